// Functions: those of a model, and the standard's definitions of its own ops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model_writer.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr char kDomain[] = "com.example";

NodeDef call(const std::string& name, std::vector<std::string> inputs, std::vector<std::string> outputs,
             std::vector<AttributeDef> attributes = {}) {
  NodeDef node = make_node(name, std::move(inputs), std::move(outputs), std::move(attributes));
  node.domain = kDomain;
  return node;
}

FunctionDef function(const std::string& name, std::vector<std::string> inputs, std::vector<std::string> outputs,
                     std::vector<NodeDef> nodes) {
  return {name, kDomain, "", std::move(inputs), std::move(outputs), {}, {{"", 13}, {kDomain, 1}}, std::move(nodes)};
}

Model model_of(NodeDef node, std::vector<FunctionDef> functions) {
  Model model{"", 13, "", {{std::move(node)}, {}, {make_input("x", DType::kF32, {2})}, {"y"}}};
  model.functions = std::move(functions);
  return model;
}

std::vector<float> run(const Model& model) {
  const std::vector<HostTensor> outputs = run_model(model, {{"x", f32s({2}, {1, -2})}});
  return outputs.empty() ? std::vector<float>() : floats(outputs[0]);
}

// Leaky(x, alpha = 0.5) = LeakyRelu(x), and an output that is its negative.
FunctionDef leaky() {
  FunctionDef made = function("Leaky", {"a"}, {"b", "c"},
                              {make_node("LeakyRelu", {"a"}, {"b"}, {{"alpha", AttributeDef::Reference{"slope"}}}),
                               make_node("Neg", {"b"}, {"c"})});
  made.defaults = {{"slope", 0.5}};
  return made;
}

TEST(OnnxFunctions, AttributesComeFromTheCallOrTheDefaults) {
  EXPECT_THAT(run(model_of(call("Leaky", {"x"}, {"y"}), {leaky()})), ElementsAre(1, -1));
  EXPECT_THAT(run(model_of(call("Leaky", {"x"}, {"y"}, {{"slope", 0.25}}), {leaky()})), ElementsAre(1, -0.5));
  EXPECT_THAT(run(model_of(call("Leaky", {"x"}, {"", "y"}), {leaky()})), ElementsAre(-1, 1));
}

TEST(OnnxFunctions, AttributesReachGraphsWithinTheFunction) {
  const auto branch = std::make_shared<const GraphDef>(
      GraphDef{{make_node("LeakyRelu", {"a"}, {"t"}, {{"alpha", AttributeDef::Reference{"slope"}}})}, {}, {}, {"t"}});
  const uint8_t yes = 1;
  FunctionDef choosing =
      function("Choosing", {"a"}, {"b"},
               {make_node("Constant", {}, {"c"}, {{"value", HostTensor::of<uint8_t>(DType::kBOOL, {}, {&yes, 1})}}),
                make_node("If", {"c"}, {"b"}, {{"then_branch", branch}, {"else_branch", branch}})});
  EXPECT_THAT(run(model_of(call("Choosing", {"x"}, {"y"}, {{"slope", 0.25}}), {choosing})), ElementsAre(1, -0.5));
}

TEST(OnnxFunctions, CallEachOther) {
  FunctionDef outer = function("Outer", {"x"}, {"y"}, {call("Leaky", {"x"}, {"b"}), call("Leaky", {"b"}, {"y"})});
  EXPECT_THAT(run(model_of(call("Outer", {"x"}, {"y"}), {outer, leaky()})), ElementsAre(1, -0.5));
}

TEST(OnnxFunctions, HaveTheirOwnOpset) {
  // Before opset 13 Squeeze has its axes as an attribute.
  FunctionDef old = function("Old", {"a"}, {"b"},
                             {make_node("Unsqueeze", {"a"}, {"u"}, {{"axes", std::vector<int64_t>{0}}}),
                              make_node("Squeeze", {"u"}, {"b"}, {{"axes", std::vector<int64_t>{0}}})});
  old.opsets[""] = 11;
  EXPECT_THAT(run(model_of(call("Old", {"x"}, {"y"}), {old})), ElementsAre(1, -2));
  old.opsets[""] = 23;
  const Status status = import_model(model_of(call("Old", {"x"}, {"y"}), {old})).status();
  EXPECT_THAT(status.message(), HasSubstr("function com.example.Old: opset 23"));
}

TEST(OnnxFunctions, AbsentInputsStayAbsent) {
  FunctionDef clip = function("Limit", {"a", "low", "high"}, {"b"}, {make_node("Clip", {"a", "low", "high"}, {"b"})});
  Model model = model_of(call("Limit", {"x", "zero"}, {"y"}), {clip});
  model.graph.initialisers = {{"zero", f32s({}, {0})}};
  EXPECT_THAT(run(model), ElementsAre(1, 0));
}

TEST(OnnxFunctions, AreToldApartByTheirOverload) {
  FunctionDef other = function("Leaky", {"a"}, {"b"}, {make_node("Neg", {"a"}, {"b"})});
  other.overload = "negative";
  NodeDef node = call("Leaky", {"x"}, {"y"});
  node.overload = "negative";
  EXPECT_THAT(run(model_of(node, {leaky(), other})), ElementsAre(-1, 2));
}

TEST(OnnxFunctions, MayNotBeRecursive) {
  const FunctionDef a = function("A", {"x"}, {"y"}, {call("B", {"x"}, {"y"})});
  const FunctionDef b = function("B", {"x"}, {"y"}, {call("A", {"x"}, {"y"})});
  const Status status = import_model(model_of(call("A", {"x"}, {"y"}), {a, b})).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("com.example.A calls itself"));
}

// f0 calls f1, which calls f2 ...
std::vector<FunctionDef> chain(int length, int calls) {
  std::vector<FunctionDef> functions;
  for (int at = 0; at < length; ++at) {
    FunctionDef made = function("f" + std::to_string(at), {"v0"}, {"v" + std::to_string(calls)}, {});
    for (int i = 0; i < calls; ++i) {
      made.nodes.push_back(
          call("f" + std::to_string(at + 1), {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)}));
      if (at + 1 == length)
        made.nodes.back() = make_node("Neg", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
    }
    functions.push_back(std::move(made));
  }
  return functions;
}

TEST(OnnxFunctions, DepthAndSizeAreBounded) {
  EXPECT_TRUE(import_model(model_of(call("f0", {"x"}, {"y"}), chain(40, 1))).ok());
  Status status = import_model(model_of(call("f0", {"x"}, {"y"}), chain(60, 1))).status();
  EXPECT_EQ(status.code(), Code::resource_exhausted);
  EXPECT_THAT(status.message(), HasSubstr("nested"));
  OnnxImportOptions options;
  options.limits.expanded_nodes = 1000;
  status = import_model(model_of(call("f0", {"x"}, {"y"}), chain(12, 2)), options).status();
  EXPECT_EQ(status.code(), Code::resource_exhausted);
  EXPECT_THAT(status.message(), HasSubstr("more nodes"));
}

TEST(OnnxFunctions, BadCalls) {
  EXPECT_THAT(import_model(model_of(call("Leaky", {"x", "x"}, {"y"}), {leaky()})).status().message(),
              HasSubstr("the function has 1 inputs and 2 outputs, the node 2 and 1"));
  EXPECT_THAT(import_model(model_of(call("Leaky", {"x"}, {"y"}), {leaky(), leaky()})).status().message(),
              HasSubstr("com.example.Leaky is defined twice"));
  NodeDef loose = make_node("LeakyRelu", {"x"}, {"y"}, {{"alpha", AttributeDef::Reference{"slope"}}});
  EXPECT_THAT(import_model(model_of(loose, {})).status().message(), HasSubstr("refers to one of a function"));
}

TEST(OnnxFunctions, UnsupportedOpsWithinAreNamedWithTheCall) {
  const FunctionDef odd = function("Odd", {"x"}, {"y"}, {make_node("Frobnicate", {"x"}, {"y"})});
  const Status status = import_model(model_of(call("Odd", {"x"}, {"y"}), {odd})).status();
  EXPECT_EQ(status.code(), Code::unimplemented);
  EXPECT_THAT(status.message(), HasSubstr("Frobnicate (opset 13) in 1 node: 'make_y/make_y'"));
}

TEST(OnnxFunctions, NamesOfNodesTellWhereTheyComeFrom) {
  const auto made = import_model(model_of(call("Leaky", {"x"}, {"y"}), {leaky()}));
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ASSERT_EQ(made->graph->node_count(), 1u);
  EXPECT_EQ(made->graph->node_name(0), "make_y/make_b");
}

TEST(OnnxFunctions, TheStandardsAreExpanded) {
  // (x - mean) / sqrt(mean of squares - square of the mean + 1e-9), over axis 0
  Model model = model_of(make_node("MeanVarianceNormalization", {"x"}, {"y"}, {{"axes", std::vector<int64_t>{0}}}), {});
  EXPECT_THAT(run(model), ElementsAre(FloatNear(1, 1e-4), FloatNear(-1, 1e-4)));
  // Its default axes are those of images.
  model.graph.nodes[0].attributes.clear();
  EXPECT_EQ(import_model(model).status().code(), Code::invalid_argument);
}

TEST(OnnxFunctions, TheStandardsMayDependOnTypesAndAttributes) {
  // The definition of SoftmaxCrossEntropyLoss differs by reduction and by whether there are weights.
  const std::pair<std::string, float> wanted[] = {{"sum", 2 * std::log(2.0F)}, {"mean", std::log(2.0F)}};
  for (const auto& [reduction, loss] : wanted) {
    const Model model{"",
                      13,
                      "",
                      {{make_node("SoftmaxCrossEntropyLoss", {"x", "t"}, {"y"}, {{"reduction", reduction}})},
                       {{"t", i64s({2}, {1, 0})}},
                       {make_input("x", DType::kF32, {2, 2})},
                       {"y"}}};
    if (const Status status = import_model(model).status(); status.code() == Code::unimplemented) {
      // Two functions within each other; what the inner one needs is not there.
      EXPECT_THAT(status.message(), HasSubstr("GatherElements (opset 13) in 1 node: 'make_y/output/"));
      continue;
    }
    const std::vector<HostTensor> outputs = run_model(model, {{"x", f32s({2, 2}, {3, 3, 5, 5})}});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_THAT(floats(outputs[0]), ElementsAre(FloatNear(loss, 1e-6F))) << reduction;
  }
}

}  // namespace
}  // namespace backplane::onnx_import
