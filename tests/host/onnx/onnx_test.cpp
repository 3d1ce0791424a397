#include "backplane/formats/onnx.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ints = std::vector<int64_t>;

std::shared_ptr<const GraphDef> branch(std::vector<NodeDef> nodes, std::string output) {
  return std::make_shared<const GraphDef>(GraphDef{std::move(nodes), {}, {}, {std::move(output)}});
}

NodeDef if_node(const std::string& condition) {
  return make_node("If", {condition}, {"y"},
                   {{"then_branch", branch({make_node("Neg", {"x"}, {"t"})}, "t")},
                    {"else_branch", branch({make_node("Add", {"x", "x"}, {"e"})}, "e")}});
}

TEST(Onnx, ImportsAndRuns) {
  const Model model{"",
                    13,
                    "tester",
                    {{make_node("Add", {"x", "c"}, {"y"})},
                     {{"c", f32s({2}, {10, 20})}},
                     {make_input("x", DType::kF32, {2})},
                     {"y"}}};
  const auto made = import_model(model);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->opset, 13);
  EXPECT_EQ(made->producer, "tester");
  EXPECT_THAT(floats(run_model(model, {{"x", f32s({2}, {1, 2})}}).at(0)), ElementsAre(11, 22));
}

TEST(Onnx, FoldsShapeArithmetic) {
  const Model model{"",
                    13,
                    "",
                    {{make_node("Shape", {"x"}, {"shape"}), make_node("Gather", {"shape", "zero"}, {"n"}),
                      make_node("Unsqueeze", {"n", "zeros"}, {"n1"}),
                      make_node("Concat", {"n1", "rest"}, {"target"}, {{"axis", int64_t{0}}}),
                      make_node("Reshape", {"x", "target"}, {"y"})},
                     {{"zero", i64s({}, {0})}, {"zeros", i64s({1}, {0})}, {"rest", i64s({1}, {-1})}},
                     {make_input("x", DType::kF32, {-1, 2, -1})},
                     {"y"}}};
  const auto made = import_model(model, {{{"x", {3, 2, 4}}}, {}});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->graph->node_count(), 0u);
  const auto shape = made->graph->shape(made->graph->find_output("y")->tensor);
  EXPECT_THAT(Ints(shape.begin(), shape.end()), ElementsAre(3, 8));
}

TEST(Onnx, InlinesTheBranchOfAKnownCondition) {
  for (const bool condition : {true, false}) {
    const auto flag = static_cast<uint8_t>(condition);
    const Model model{"",
                      13,
                      "",
                      {{if_node("c")},
                       {{"c", HostTensor::of<uint8_t>(DType::kBOOL, {}, std::span(&flag, 1))}},
                       {make_input("x", DType::kF32, {1})},
                       {"y"}}};
    EXPECT_THAT(floats(run_model(model, {{"x", f32s({1}, {3})}}).at(0)), ElementsAre(condition ? -3 : 6));
  }
}

TEST(Onnx, RefusesAConditionThatDependsOnData) {
  const Model model{"",
                    13,
                    "",
                    {{make_node("ReduceSum", {"x"}, {"s"}, {{"keepdims", int64_t{0}}}),
                      make_node("Greater", {"s", "zero"}, {"c"}), if_node("c")},
                     {{"zero", f32s({}, {0})}},
                     {make_input("x", DType::kF32, {17})},
                     {"y"}}};
  const auto made = import_model(model);
  EXPECT_EQ(made.status().code(), Code::unimplemented);
  EXPECT_THAT(made.status().message(), HasSubstr("run-time data"));
  EXPECT_THAT(made.status().message(), HasSubstr("'make_y'"));
}

// sr decides a branch, k does not.
Model rate_model() {
  return {"",
          13,
          "",
          {{make_node("Equal", {"sr", "rate"}, {"c"}), if_node("c"), make_node("Add", {"k", "k"}, {"k2"})},
           {{"rate", i64s({}, {16000})}},
           {make_input("x", DType::kF32, {1}), make_input("sr", DType::kI64, {}), make_input("k", DType::kI64, {1})},
           {"y", "k2"}}};
}

TEST(Onnx, SpecialisesOnlyInputsThatDecide) {
  const auto made = import_model(rate_model(), {{}, {{"sr", i64s({}, {16000})}, {"k", i64s({1}, {5})}}});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->specialised, ElementsAre("sr = 16000"));
  EXPECT_EQ(made->graph->find_input("sr"), nullptr);
  EXPECT_NE(made->graph->find_input("k"), nullptr);
  const std::map<std::string, HostTensor> low{{"x", f32s({1}, {3})}, {"sr", i64s({}, {8000})}, {"k", i64s({1}, {5})}};
  EXPECT_THAT(floats(run_model(rate_model(), low).at(0)), ElementsAre(6));
}

TEST(Onnx, AsksForAValueThatDecides) {
  const auto made = import_model(rate_model());
  EXPECT_EQ(made.status().code(), Code::invalid_argument);
  EXPECT_THAT(made.status().message(), HasSubstr("'sr'"));
  EXPECT_THAT(made.status().message(), HasSubstr("pass the value"));
}

TEST(Onnx, OutputsMayBeInputsOrConstants) {
  const Model model{"",
                    13,
                    "",
                    {{make_node("Identity", {"x"}, {"y"})},
                     {{"c", f32s({1}, {7})}},
                     {make_input("x", DType::kF32, {1})},
                     {"x", "y", "c"}}};
  const auto outputs = run_model(model, {{"x", f32s({1}, {3})}});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(3));
  EXPECT_THAT(floats(outputs[1]), ElementsAre(3));
  EXPECT_THAT(floats(outputs[2]), ElementsAre(7));
}

TEST(Onnx, NotesUnusedInputs) {
  const Model model{"",
                    13,
                    "",
                    {{make_node("Neg", {"x"}, {"y"})},
                     {},
                     {make_input("x", DType::kF32, {1}), make_input("z", DType::kF32, {1})},
                     {"y"}}};
  const auto made = import_model(model);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->notes, ElementsAre(HasSubstr("'z'")));
  EXPECT_NE(made->graph->find_input("z"), nullptr);
  EXPECT_THAT(made->specialised, IsEmpty());
}

TEST(Onnx, DimensionsOfOneNameShareTheirExtent) {
  const Model model{"",
                    13,
                    "",
                    {{make_node("Add", {"a", "b"}, {"y"})},
                     {},
                     {make_input("a", DType::kF32, {-1}), make_input("b", DType::kF32, {-1})},
                     {"y"}}};
  const auto made = import_model(model, {{{"a", {4}}}, {}});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->graph->shape(made->graph->find_input("b")->tensor)[0], 4);
}

}  // namespace
}  // namespace backplane::onnx_import
