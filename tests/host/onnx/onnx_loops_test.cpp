// Loop and Scan, unrolled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HostTensor flag(bool value) {
  const auto byte = static_cast<uint8_t>(value);
  return HostTensor::of<uint8_t>(DType::kBOOL, {}, std::span(&byte, 1));
}

std::shared_ptr<const GraphDef> body(std::vector<NodeDef> nodes, const std::vector<std::string>& inputs,
                                     std::vector<std::string> outputs,
                                     std::vector<std::pair<std::string, HostTensor>> initialisers = {}) {
  GraphDef made{std::move(nodes), std::move(initialisers), {}, std::move(outputs)};
  for (const std::string& name : inputs) made.inputs.push_back(make_input(name, DType::kF32, {}));
  return std::make_shared<const GraphDef>(std::move(made));
}

// Doubles v each turn, goes on while the turn is below `last`, and gives v and the turn's number times x.
Model loop_model(const std::string& trips, const std::string& condition, int64_t last) {
  const auto turn =
      body({make_node("Add", {"v", "v"}, {"w"}), make_node("Less", {"i", "last"}, {"more"}),
            make_node("Cast", {"i"}, {"f"}, {{"to", int64_t{1}}}), make_node("Mul", {"f", "x"}, {"part"})},
           {"i", "c", "v"}, {"more", "w", "part"}, {{"last", i64s({}, {last})}});
  return {"",
          13,
          "",
          {{make_node("Loop", {trips, condition, "x"}, {"y", "parts"}, {{"body", turn}})},
           {{"three", i64s({}, {3})}, {"none", i64s({}, {0})}, {"yes", flag(true)}, {"no", flag(false)}},
           {make_input("x", DType::kF32, {2})},
           {"y", "parts"}}};
}

std::vector<HostTensor> run(const Model& model) { return run_model(model, {{"x", f32s({2}, {1, 10})}}); }

TEST(OnnxLoops, TurnsAsOftenAsTheTripCountSays) {
  const auto outputs = run(loop_model("three", "", 0));  // no condition: what the body says is ignored
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(8, 80));
  EXPECT_THAT(outputs[1].shape(), ElementsAre(3, 2));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(0, 0, 1, 10, 2, 20));
}

TEST(OnnxLoops, EndsWhenTheConditionDoes) {
  for (const char* trips : {"", "three"}) {
    const auto outputs = run(loop_model(trips, "yes", 1));
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_THAT(floats(outputs[0]), ElementsAre(4, 40));
    EXPECT_THAT(floats(outputs[1]), ElementsAre(0, 0, 1, 10));
  }
}

TEST(OnnxLoops, MayNotTurnAtAll) {
  for (const auto& [trips, condition] : {std::pair("none", ""), std::pair("", "no"), std::pair("none", "yes")}) {
    const auto outputs = run(loop_model(trips, condition, 5));
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_THAT(floats(outputs[0]), ElementsAre(1, 10));
    EXPECT_THAT(outputs[1].shape(), ElementsAre(0, 2));
  }
}

TEST(OnnxLoops, AreNotedAndTheirTurnsNamed) {
  const auto made = import_model(loop_model("three", "", 0));
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->notes, ElementsAre(HasSubstr("'make_y' is unrolled to 3 turns")));
  EXPECT_EQ(made->graph->node_name(0), "make_y/turn 0/make_w");
}

TEST(OnnxLoops, SpecialiseTheirTripCount) {
  Model model = loop_model("n", "", 0);
  model.graph.inputs.push_back(make_input("n", DType::kI64, {}));
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("the value of input 'n' decides"));
  const auto made = import_model(model, {{}, {{"n", i64s({}, {2})}}});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->specialised, ElementsAre("n = 2"));
}

TEST(OnnxLoops, RefuseWhatDependsOnData) {
  Model model = loop_model("three", "yes", 0);
  model.graph.inputs[0] = make_input("x", DType::kF32, {32});  // too large to be specialised
  auto turn = GraphDef(*std::get<std::shared_ptr<const GraphDef>>(model.graph.nodes[0].attributes[0].value));
  turn.nodes[1] = make_node("Less", {"sum", "zero"}, {"more"});
  turn.nodes.insert(turn.nodes.begin(), make_node("ReduceSum", {"v"}, {"sum"}, {{"keepdims", int64_t{0}}}));
  turn.initialisers.emplace_back("zero", f32s({}, {0}));
  model.graph.nodes[0].attributes[0].value = std::make_shared<const GraphDef>(std::move(turn));
  const Status status = import_model(model).status();
  EXPECT_EQ(status.code(), Code::unimplemented);
  EXPECT_THAT(status.message(), HasSubstr("run-time data"));
  EXPECT_THAT(status.message(), HasSubstr("Loop (opset 13) in 1 node: 'make_y'"));
}

TEST(OnnxLoops, RefuseToTurnForEver) {
  EXPECT_THAT(import_model(loop_model("", "", 0)).status().message(), HasSubstr("never ends"));
  Model endless = loop_model("", "yes", INT64_MAX);
  OnnxImportOptions options;
  options.limits.expanded_nodes = 1000;
  EXPECT_EQ(import_model(endless, options).status().code(), Code::resource_exhausted);
}

TEST(OnnxLoops, ListUnsupportedOpsOfTheirBodies) {
  Model model = loop_model("three", "", 0);
  auto turn = GraphDef(*std::get<std::shared_ptr<const GraphDef>>(model.graph.nodes[0].attributes[0].value));
  turn.nodes[0].op = "Frobnicate";
  model.graph.nodes[0].attributes[0].value = std::make_shared<const GraphDef>(std::move(turn));
  model.graph.nodes.push_back(make_node("Unheard", {"y"}, {"z"}));
  const Status status = import_model(model).status();
  EXPECT_THAT(status.message(), HasSubstr("Frobnicate (opset 13) in 1 node: 'make_y/turn 0/make_w'"));
  EXPECT_THAT(status.message(), HasSubstr("Unheard"));
}

TEST(OnnxLoops, BodiesThatDoNotFit) {
  Model model = loop_model("three", "", 0);
  model.graph.nodes[0].inputs.pop_back();
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("turn 0 takes 3 inputs, but is given 2"));
  model = loop_model("three", "", 0);
  model.graph.nodes[0].attributes.clear();
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("attribute 'body' must be a graph"));
}

// Running sums of x's rows (or columns), from s on.
Model scan_model(int64_t opset, std::vector<AttributeDef> attributes, std::vector<int64_t> state,
                 std::vector<int64_t> scanned) {
  attributes.push_back(
      {"body", body({make_node("Add", {"s", "row"}, {"sum"}), make_node("Identity", {"sum"}, {"part"})}, {"s", "row"},
                    {"sum", "part"})});
  attributes.push_back({"num_scan_inputs", int64_t{1}});
  std::vector<std::string> inputs{"s", "x"};
  if (opset < 9) inputs.insert(inputs.begin(), "");
  return {"",
          opset,
          "",
          {{make_node("Scan", inputs, {"y", "parts"}, std::move(attributes))},
           {},
           {make_input("s", DType::kF32, state), make_input("x", DType::kF32, scanned)},
           {"y", "parts"}}};
}

std::vector<HostTensor> run_scan(const Model& model, const HostTensor& state, const HostTensor& x) {
  return run_model(model, {{"s", state}, {"x", x}});
}

TEST(OnnxLoops, ScansRows) {
  const auto outputs = run_scan(scan_model(13, {}, {2}, {3, 2}), f32s({2}, {0, 100}), f32s({3, 2}, {1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(9, 112));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(1, 102, 4, 106, 9, 112));
}

TEST(OnnxLoops, ScansAlongAnyAxisInAnyDirection) {
  using Ints = std::vector<int64_t>;
  const Model model = scan_model(13,
                                 {{"scan_input_axes", Ints{-1}},
                                  {"scan_input_directions", Ints{1}},
                                  {"scan_output_axes", Ints{1}},
                                  {"scan_output_directions", Ints{1}}},
                                 {2}, {2, 3});
  const auto outputs = run_scan(model, f32s({2}, {0, 100}), f32s({2, 3}, {1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(6, 115));
  EXPECT_THAT(outputs[1].shape(), ElementsAre(2, 3));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(6, 5, 3, 115, 111, 106));
}

TEST(OnnxLoops, ScansNothing) {
  const auto outputs = run_scan(scan_model(13, {}, {2}, {0, 2}), f32s({2}, {7, 8}), f32s({0, 2}, {}));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(7, 8));
  EXPECT_THAT(outputs[1].shape(), ElementsAre(0, 2));
  EXPECT_THAT(floats(outputs[1]), IsEmpty());
}

TEST(OnnxLoops, ScansBatchesBeforeOpset9) {
  const auto outputs =
      run_scan(scan_model(8, {}, {2, 1}, {2, 3, 1}), f32s({2, 1}, {0, 100}), f32s({2, 3, 1}, {1, 2, 3, 4, 5, 6}));
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(6, 115));
  EXPECT_THAT(outputs[1].shape(), ElementsAre(2, 3, 1));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(1, 3, 6, 104, 109, 115));
}

TEST(OnnxLoops, ScansThatDoNotFit) {
  Model model = scan_model(13, {{"scan_input_axes", std::vector<int64_t>{2}}}, {2}, {3, 2});
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("axis 2 is outside"));
  model = scan_model(13, {{"scan_output_axes", std::vector<int64_t>{0, 0}}}, {2}, {3, 2});
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("scan_output_axes [0, 0]"));
  model = scan_model(13, {}, {2}, {3, 2});
  model.graph.nodes[0].attributes.back().value = int64_t{3};
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("num_scan_inputs is 3"));
}

}  // namespace
}  // namespace backplane::onnx_import
