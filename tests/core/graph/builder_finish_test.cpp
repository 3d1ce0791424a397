#include <gtest/gtest.h>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

using Shape = std::vector<int64_t>;

HostTensor ones(Shape shape) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape)).value();
  std::fill_n(tensor.mutable_data<float>(), tensor.elements(), 1.0f);
  return tensor;
}

TEST(BuilderFinish, DropsWhatNoOutputNeeds) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  ASSERT_TRUE(builder.input("unused", DType::kF32, Shape{9}).ok());
  const TensorId dead_constant = builder.constant(ones({4})).value();
  const TensorId dead = builder.op(Op::kADD, {x, dead_constant}).value();
  ASSERT_TRUE(builder.op(Op::kEXP, {builder.slice(dead, 0, 0, 2).value()}).ok());
  const TensorId live_constant = builder.constant(ones({4})).value();
  ASSERT_TRUE(builder.slice(x, 0, 1, 2).ok());  // a view that nobody uses
  const TensorId y = builder.op(Op::kMUL, {x, live_constant}, {}, "y").value();
  ASSERT_TRUE(builder.output(y, "y").ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(graph->node_count(), 1u);
  EXPECT_EQ(graph->tensor_count(), 4u);
  EXPECT_EQ(graph->storage_count(), 4u);
  EXPECT_EQ(graph->inputs().size(), 2u);
  EXPECT_EQ(graph->node_name(0), "y");
  EXPECT_EQ(graph->node(0).tag, 0u);
  EXPECT_FALSE(graph->constant(graph->storage_of(graph->node_inputs(0)[1])).is_null());
}

TEST(BuilderFinish, OutputsOfANodeThatNobodyNeedsBecomeAbsent) {
  for (const bool first : {true, false}) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kF32, Shape{1, 1, 4}).value();
    const TensorId ids[] = {x};
    const bool both[] = {true, true};
    const auto outputs = builder.node(Op::kMAX_POOL, ids, {{BP_ATTR_KERNEL_SHAPE, Shape{2}}}, both).value();
    ASSERT_TRUE(builder.output(outputs[first ? 0 : 1], "y").ok());
    const auto graph = builder.finish().value();
    EXPECT_EQ(graph->tensor_count(), 2u);
    ASSERT_EQ(graph->node_outputs(0).size(), first ? 1u : 2u);
    EXPECT_EQ(graph->node_outputs(0)[0] == kNone, !first);
  }
}

TEST(BuilderFinish, LeavesTheBuilderEmptyAndUsable) {
  GraphBuilder builder;
  ASSERT_TRUE(builder.input("x", DType::kF32, Shape{4}).ok());
  ASSERT_TRUE(builder.finish().ok());
  EXPECT_EQ(builder.input("x", DType::kF32, Shape{4}).value(), 0u);
}

TEST(BuilderFinish, InputsConstantsAndViewsMayBeOutputs) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  const TensorId c = builder.constant(ones({2})).value();
  const TensorId v = builder.slice(x, 0, 2, 2).value();
  for (const auto& [id, name] : {std::pair(x, "x"), {c, "c"}, {v, "v"}}) ASSERT_TRUE(builder.output(id, name).ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(graph->node_count(), 0u);
  ASSERT_EQ(graph->outputs().size(), 3u);
  const TensorId view = graph->find_output("v")->tensor;
  EXPECT_EQ(graph->tensor(view).flags, BP_TENSOR_INPUT | BP_TENSOR_OUTPUT);
  EXPECT_EQ(graph->tensor_name(view), "v");
  EXPECT_EQ(graph->tensor(graph->find_output("c")->tensor).flags, BP_TENSOR_WEIGHT | BP_TENSOR_OUTPUT);
}

TEST(BuilderFinish, StoragesUniteViewsAndKnowTheirWriter) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  const TensorId a = builder.op(Op::kRELU, {x}).value();
  const TensorId b = builder.op(Op::kEXP, {x}).value();
  const TensorId view = builder.slice(b, 0, 1, 2).value();
  ASSERT_TRUE(builder.output(view, "view").ok());
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {a, b}).value(), "sum").ok());
  const auto graph = builder.finish().value();
  const StorageId storage = graph->storage_of(graph->find_output("view")->tensor);
  EXPECT_EQ(graph->storage(storage).root, graph->node_outputs(1)[0]);
  EXPECT_EQ(graph->storage(storage).writer, 1u);
  EXPECT_EQ(graph->storage(storage).flags, BP_TENSOR_OUTPUT);
  EXPECT_EQ(graph->storage(storage).bytes, 16u);
  EXPECT_EQ(graph->storage(storage).reads, 1u);
  EXPECT_EQ(graph->tensor(graph->node_outputs(1)[0]).flags, 0u);
  EXPECT_EQ(graph->storage(graph->storage_of(graph->find_input("x")->tensor)).writer, kNone);
}

TEST(BuilderFinish, TheGraphsPortsAreItsAbiPorts) {
  GraphBuilder builder;
  const TensorId c = builder.constant(ones({4})).value();
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {c, x}).value(), "y").ok());
  const auto graph = builder.finish().value();
  const bp_graph& abi = graph->abi();
  EXPECT_EQ(abi.head.kind, uint32_t{BP_KIND_GRAPH});
  ASSERT_EQ(abi.in_count, 2u);
  EXPECT_EQ(abi.u32[abi.in_at], graph->find_input("x")->tensor);
  EXPECT_EQ(abi.u32[abi.in_at + 1], graph->node_inputs(0)[0]);
  ASSERT_EQ(abi.out_count, 1u);
  EXPECT_EQ(abi.u32[abi.out_at], graph->find_output("y")->tensor);
  EXPECT_EQ(bp_tensor_at(&abi, graph->find_output("y")->tensor)->bytes, 16u);
}

TEST(BuilderFinish, AMillionNodesInAChain) {
  constexpr uint32_t kNodes = 1'000'000;
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  for (uint32_t i = 0; i < kNodes; ++i) x = builder.op(Op::kRELU, {x}).value();
  ASSERT_TRUE(builder.output(x, "y").ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(graph->node_count(), kNodes);
  EXPECT_EQ(graph->node_outputs(kNodes - 1)[0], graph->find_output("y")->tensor);
}

TEST(BuilderFinish, AMillionDeadNodesAreDropped) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  TensorId dead = x;
  for (int i = 0; i < 1'000'000; ++i) dead = builder.op(Op::kRELU, {dead}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kEXP, {x}).value(), "y").ok());
  EXPECT_EQ(builder.finish().value()->node_count(), 1u);
}

}  // namespace
}  // namespace backplane
