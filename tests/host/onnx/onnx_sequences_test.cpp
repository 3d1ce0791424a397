// Sequences and optional values, of which nothing is left in a graph but their tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Kind = OnnxInput::Kind;

// x is [3, 2]: rows (1, 2), (3, 4) and (5, 6).
Model rows_model(std::vector<NodeDef> nodes, std::vector<std::string> outputs) {
  nodes.insert(nodes.begin(), make_node("SplitToSequence", {"x"}, {"rows"}, {{"keepdims", int64_t{0}}}));
  return {"",
          17,
          "",
          {std::move(nodes),
           {{"zero", i64s({}, {0})}, {"one", i64s({}, {1})}, {"last", i64s({}, {-1})}, {"four", i64s({}, {4})}},
           {make_input("x", DType::kF32, {3, 2}), make_input("at", DType::kI64, {})},
           std::move(outputs)}};
}

std::vector<HostTensor> run(const Model& model, int64_t at = 0) {
  return run_model(model, {{"x", f32s({3, 2}, {1, 2, 3, 4, 5, 6})}, {"at", i64s({}, {at})}});
}

std::string fault(std::vector<NodeDef> nodes) {
  const auto made = import_model(rows_model(std::move(nodes), {"y"}), {{}, {{"at", i64s({}, {0})}}});
  EXPECT_FALSE(made.ok());
  return made.status().message();
}

std::shared_ptr<const GraphDef> body(std::vector<NodeDef> nodes, const std::vector<std::string>& inputs,
                                     std::vector<std::string> outputs) {
  GraphDef made{std::move(nodes), {}, {}, std::move(outputs)};
  for (const std::string& name : inputs) made.inputs.push_back(make_input(name, DType::kF32, {}));
  return std::make_shared<const GraphDef>(std::move(made));
}

TEST(OnnxSequences, InsertsErasesCountsAndConcatenates) {
  const auto outputs = run(rows_model(
      {make_node("SequenceAt", {"rows", "last"}, {"c"}),
       make_node("SequenceInsert", {"rows", "c", "one"}, {"four_rows"}),
       make_node("SequenceErase", {"four_rows", "zero"}, {"three_rows"}),
       make_node("SequenceErase", {"three_rows"}, {"two_rows"}),
       make_node("SequenceInsert", {"two_rows", "c"}, {"more_rows"}),
       make_node("SequenceLength", {"four_rows"}, {"count"}),
       make_node("ConcatFromSequence", {"more_rows"}, {"y"}, {{"axis", int64_t{0}}}),
       make_node("ConcatFromSequence", {"two_rows"}, {"z"}, {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}})},
      {"count", "y", "z"}));
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(*outputs[0].data<int64_t>(), 4);
  EXPECT_THAT(floats(outputs[1]), ElementsAre(5, 6, 3, 4, 5, 6));
  EXPECT_THAT(outputs[2].shape(), ElementsAre(2, 2));
  EXPECT_THAT(floats(outputs[2]), ElementsAre(5, 3, 6, 4));
}

TEST(OnnxSequences, APositionThatIsAnInputIsSpecialised) {
  const Model model = rows_model({make_node("SequenceAt", {"rows", "at"}, {"y"})}, {"y"});
  EXPECT_THAT(floats(run(model, 1).at(0)), ElementsAre(3, 4));
  EXPECT_THAT(floats(run(model, -3).at(0)), ElementsAre(1, 2));
  const auto made = import_model(model, {{}, {{"at", i64s({}, {1})}}});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->specialised, ElementsAre("at = 1"));
  const auto outside = import_model(model, {{}, {{"at", i64s({}, {3})}}});
  EXPECT_THAT(outside.status().message(), HasSubstr("position 3 is outside of what has 3"));
}

TEST(OnnxSequences, SplitsBySizeAndByLengths) {
  Model model = rows_model({make_node("SplitToSequence", {"x", "two"}, {"a"}),
                            make_node("SplitToSequence", {"x", "lengths"}, {"b"}, {{"axis", int64_t{1}}}),
                            make_node("SplitToSequence", {"x"}, {"c"}, {{"axis", int64_t{-1}}})},
                           {"a", "b", "c"});
  model.graph.initialisers.emplace_back("two", i64s({}, {2}));
  model.graph.initialisers.emplace_back("lengths", i64s({3}, {1, 0, 1}));
  const auto outputs = run(model);
  ASSERT_EQ(outputs.size(), 7u);
  const std::vector<Ints> shapes{{2, 2}, {1, 2}, {3, 1}, {3, 0}, {3, 1}, {3, 1}, {3, 1}};
  for (size_t at = 0; at < shapes.size(); ++at) EXPECT_EQ(outputs[at].shape(), shapes[at]) << at;
  EXPECT_THAT(floats(outputs[1]), ElementsAre(5, 6));
  EXPECT_THAT(floats(outputs[4]), ElementsAre(2, 4, 6));
}

TEST(OnnxSequences, MapsABodyOverElements) {
  const auto sum =
      body({make_node("Add", {"a", "b"}, {"s"}), make_node("Shape", {"a"}, {"n"})}, {"a", "b"}, {"s", "n"});
  const auto made = run(rows_model({make_node("SequenceAt", {"rows", "zero"}, {"first"}),
                                    make_node("SequenceMap", {"rows", "first"}, {"y", "n"}, {{"body", sum}}),
                                    make_node("SequenceMap", {"rows", "y"}, {"z"}, {{"body", sum}})},
                                   {"y", "z", "n"}));
  ASSERT_EQ(made.size(), 9u);
  EXPECT_THAT(floats(made[2]), ElementsAre(6, 8));
  EXPECT_THAT(floats(made[5]), ElementsAre(11, 14));
  EXPECT_EQ(*made[8].data<int64_t>(), 2);
}

TEST(OnnxSequences, GoThroughLoopsAndBranches) {
  const auto turn = body({make_node("SequenceAt", {"rows", "i"}, {"row"}),
                          make_node("SequenceInsert", {"s", "row"}, {"t"}), make_node("Identity", {"t"}, {"u"})},
                         {"i", "c", "s"}, {"c", "u"});
  const auto pass = body({}, {}, {"looped"});
  const auto made =
      run(rows_model({make_node("SequenceConstruct", {"x"}, {"start"}),
                      make_node("SequenceErase", {"start"}, {"empty"}), make_node("SequenceLength", {"rows"}, {"n"}),
                      make_node("Loop", {"n", "", "empty"}, {"looped"}, {{"body", turn}}),
                      make_node("Equal", {"n", "four"}, {"is_four"}),
                      make_node("If", {"is_four"}, {"y"}, {{"then_branch", pass}, {"else_branch", pass}})},
                     {"y"}));
  ASSERT_EQ(made.size(), 3u);
  EXPECT_THAT(floats(made[2]), ElementsAre(5, 6));
}

TEST(OnnxSequences, InputsAreAsManyTensorsAsAreGiven) {
  const Model model{"",
                    17,
                    "",
                    {{make_node("ConcatFromSequence", {"s"}, {"y"}, {{"axis", int64_t{0}}})},
                     {},
                     {make_input("s", Kind::sequence, {-1})},
                     {"y", "s"}}};
  const OnnxImportOptions options{{{"s[0]", {2}}}, {{"s[1]", f32s({1}, {7})}}};
  const auto made = import_model(model, options);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->specialised, ElementsAre("s has 2 elements"));
  const auto outputs = run_graph(*made->graph, {{"s[0]", f32s({2}, {5, 6})}, {"s[1]", f32s({1}, {7})}});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(5, 6, 7));
  EXPECT_EQ(made->graph->outputs()[2].name, "s[1]");
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("nothing to concatenate"));
  EXPECT_THAT(import_model(model, {{{"s[1]", {2}}}, {}}).status().message(), HasSubstr("s[0], [1] ... without a gap"));
  EXPECT_THAT(import_model(model, {{{"s", {2}}}, {}}).status().message(), HasSubstr("no input 's'"));
}

TEST(OnnxSequences, OptionalInputsAreAbsentUnlessGiven) {
  const auto yes = body({make_node("OptionalGetElement", {"o"}, {"got"})}, {}, {"got"}), no = body({}, {}, {"x"});
  const Model model{"",
                    15,
                    "",
                    {{make_node("OptionalHasElement", {"o"}, {"has"}),
                      make_node("If", {"has"}, {"y"}, {{"then_branch", yes}, {"else_branch", no}})},
                     {},
                     {make_input("o", Kind::optional, {1}), make_input("x", DType::kF32, {1})},
                     {"y", "has", "o"}}};
  const auto absent = import_model(model);
  ASSERT_TRUE(absent.ok()) << absent.status().to_string();
  EXPECT_THAT(absent->specialised, ElementsAre("o is absent"));
  EXPECT_THAT(absent->notes, ElementsAre("output 'o' is absent"));
  const auto outputs = run_model(model, {{"o", f32s({1}, {3})}, {"x", f32s({1}, {4})}});
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_THAT(floats(outputs[0]), ElementsAre(3));
  EXPECT_EQ(*outputs[1].data<uint8_t>(), 1);
}

TEST(OnnxSequences, AreRefusedWhereATensorIsWanted) {
  EXPECT_THAT(fault({make_node("Neg", {"rows"}, {"y"})}), HasSubstr("its input 0 is a sequence"));
  EXPECT_THAT(fault({make_node("Cast", {"rows"}, {"y"}, {{"to", int64_t{1}}})}), HasSubstr("given a sequence"));
  EXPECT_THAT(fault({make_node("SequenceAt", {"rows", "rows"}, {"y"})}), HasSubstr("a tensor is wanted"));
  EXPECT_THAT(fault({make_node("SequenceAt", {"x", "zero"}, {"y"})}), HasSubstr("must be a sequence, found a tensor"));
  EXPECT_THAT(fault({make_node("SequenceConstruct", {"rows"}, {"y"})}), HasSubstr("no element of one"));
  EXPECT_THAT(fault({make_node("SplitToSequence", {"x", "zero"}, {"y"})}), HasSubstr("a positive one"));
  const auto stacks = body({}, {"i", "c"}, {"c", "rows"});
  EXPECT_THAT(fault({make_node("Loop", {"one", ""}, {"y"}, {{"body", stacks}})}), HasSubstr("given a sequence"));
  EXPECT_THAT(fault({make_node("Loop", {"zero", ""}, {"y"}, {{"body", stacks}})}), HasSubstr("given a sequence"));
  EXPECT_THAT(fault({make_node("Loop", {"rows", ""}, {"y"}, {{"body", stacks}})}), HasSubstr("a tensor is wanted"));
  const auto one = body({make_node("Neg", {"a"}, {"b"})}, {"a"}, {"b"});
  EXPECT_THAT(fault({make_node("Scan", {"rows"}, {"y"}, {{"body", one}, {"num_scan_inputs", int64_t{1}}})}),
              HasSubstr("given a sequence"));
}

}  // namespace
}  // namespace backplane::onnx_import
