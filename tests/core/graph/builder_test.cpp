#include "backplane/graph/builder.hpp"

#include <gtest/gtest.h>

namespace backplane {
namespace {

using Shape = std::vector<int64_t>;

HostTensor floats(Shape shape, std::vector<float> values) {
  return HostTensor::of<float>(DType::kF32, std::move(shape), values);
}

TEST(Builder, LeavesAndOps) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2, 3}).value();
  const TensorId w = builder.constant(floats({3}, {1, 2, 3}), "w").value();
  const TensorId y = builder.op(Op::kADD, {x, w}, {}, "y").value();
  EXPECT_EQ(builder.shape(y), (Shape{2, 3}));
  EXPECT_EQ(builder.dtype(y), DType::kF32);
  EXPECT_EQ(builder.tensor_text(y), "y: f32 [2, 3]");
  ASSERT_TRUE(builder.output(y, "sum").ok());
  const auto graph = builder.finish().value();
  ASSERT_EQ(graph->node_count(), 1u);
  EXPECT_EQ(graph->op(0), Op::kADD);
  EXPECT_EQ(graph->node_name(0), "y");
  EXPECT_EQ(graph->find_input("x")->tensor, graph->node_inputs(0)[0]);
  EXPECT_EQ(graph->find_output("sum")->tensor, graph->node_outputs(0)[0]);
  EXPECT_EQ(graph->find_input("sum"), nullptr);
  EXPECT_EQ(graph->tensor_text(graph->find_output("sum")->tensor), "y: f32 [2, 3]");
  EXPECT_EQ(graph->constant(graph->storage_of(graph->node_inputs(0)[1])).data<float>()[2], 3.0f);
  EXPECT_TRUE(graph->constant(graph->storage_of(graph->node_inputs(0)[0])).is_null());
}

TEST(Builder, LeafErrors) {
  GraphBuilder builder;
  ASSERT_TRUE(builder.input("x", DType::kF32, Shape{2}).ok());
  EXPECT_NE(builder.input("x", DType::kF32, Shape{2}).status().message().find("'x'"), std::string::npos);
  EXPECT_FALSE(builder.state("x", DType::kF32, Shape{2}).ok());
  EXPECT_FALSE(builder.input("", DType::kF32, Shape{2}).ok());
  EXPECT_FALSE(builder.input("y", DType::kF32, Shape{-2}).ok());
  EXPECT_TRUE(builder.input("y", DType::kF32, Shape{2}).ok()) << "a failed call must not take the name";
  EXPECT_FALSE(builder.constant(HostTensor()).ok());
}

TEST(Builder, UnknownTensorsAreErrors) {
  GraphBuilder builder;
  EXPECT_FALSE(builder.op(Op::kRELU, {TensorId{3}}).ok());
  EXPECT_FALSE(builder.reshape(3, Shape{1}).ok());
  EXPECT_FALSE(builder.permute(kNone, Shape{}).ok());
  EXPECT_FALSE(builder.slice(0, 0, 0, 1).ok());
  EXPECT_FALSE(builder.broadcast(0, Shape{}).ok());
  EXPECT_FALSE(builder.dense(0).ok());
  EXPECT_FALSE(builder.output(0, "y").ok());
  EXPECT_FALSE(builder.node_into(0, Op::kCOPY, std::vector<TensorId>{0}).ok());
  EXPECT_TRUE(builder.constant_value(9).is_null());
}

TEST(Builder, QuestionsAboutUnknownTensorsAreHarmless) {
  GraphBuilder builder;
  for (const TensorId x : {TensorId{0}, TensorId{77}, kNone}) {
    EXPECT_EQ(builder.dtype(x), DType{});
    EXPECT_TRUE(builder.shape(x).empty());
    EXPECT_EQ(builder.tensor_text(x), "no tensor " + std::to_string(x));
    EXPECT_TRUE(builder.constant_value(x).is_null());
  }
}

TEST(Builder, ErrorsNameTheNode) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  const auto refused = builder.op(Op::kNOT, {x}, {}, "my_node");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message().find("node 'my_node': not: "), 0u) << refused.status().message();
}

TEST(Builder, FailedCallsLeaveNoTrace) {
  const auto build = [](bool fail) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
    if (fail) {
      EXPECT_FALSE(builder.op(Op::kNOT, {x}).ok());
      EXPECT_FALSE(builder.reshape(x, Shape{3}).ok());
      EXPECT_FALSE(builder.op(Op::kSOFTMAX, {x}, {{BP_ATTR_AXIS, int64_t{1}}}).ok());
    }
    const TensorId y = builder.op(Op::kRELU, {x}).value();
    EXPECT_EQ(y, 1u);
    EXPECT_TRUE(builder.output(y, "y").ok());
    return builder.finish().value()->key();
  };
  EXPECT_EQ(build(true), build(false));
}

TEST(Builder, WantedOutputs) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{1, 1, 4}).value();
  const AttrList attrs = {{BP_ATTR_KERNEL_SHAPE, Shape{2}}};
  const TensorId ids[] = {x};
  const bool second[] = {false, true};
  const auto outputs = builder.node(Op::kMAX_POOL, ids, attrs, second, "pool").value();
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0], kNone);
  EXPECT_EQ(builder.tensor_text(outputs[1]), "pool:1: i64 [1, 1, 3]");
  const bool none[] = {false, false};
  EXPECT_FALSE(builder.node(Op::kMAX_POOL, ids, attrs, none).ok());
  const bool three[] = {true, true, true};
  EXPECT_FALSE(builder.node(Op::kMAX_POOL, ids, attrs, three).ok());
}

TEST(Builder, AbsentInputsAtTheEndAreDropped) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  const TensorId hi = builder.constant(floats({}, {1})).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kCLIP, {x, kNone, kNone}).value(), "a").ok());
  ASSERT_TRUE(builder.output(builder.op(Op::kCLIP, {x, kNone, hi}).value(), "b").ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(graph->node_inputs(0).size(), 1u);
  ASSERT_EQ(graph->node_inputs(1).size(), 3u);
  EXPECT_EQ(graph->node_inputs(1)[1], kNone);
}

TEST(Builder, OutputNamesAreUniqueAndATensorMayHaveSeveral) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  EXPECT_TRUE(builder.output(x, "x").ok());
  EXPECT_TRUE(builder.output(x, "again").ok());
  EXPECT_FALSE(builder.output(x, "again").ok());
  EXPECT_FALSE(builder.output(x, "").ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(graph->find_output("x")->tensor, graph->find_output("again")->tensor);
  EXPECT_EQ(graph->tensor(0).flags, BP_TENSOR_INPUT | BP_TENSOR_OUTPUT);
}

// ---- constants

TEST(Builder, ConstantValueOfViews) {
  GraphBuilder builder;
  const TensorId c = builder.constant(floats({2, 3}, {0, 1, 2, 3, 4, 5})).value();
  const TensorId columns = builder.slice(c, 1, 0, 2, 2).value();
  const TensorId turned = builder.permute(columns, Shape{1, 0}).value();
  const HostTensor value = builder.constant_value(turned);
  ASSERT_EQ(value.shape(), (Shape{2, 2}));
  EXPECT_EQ(std::vector<float>(value.data<float>(), value.data<float>() + 4), (std::vector<float>{0, 3, 2, 5}));

  const HostTensor row = builder.constant_value(builder.slice(c, 0, 1, 1).value());
  EXPECT_EQ(row.data<float>(), builder.constant_value(c).data<float>() + 3) << "dense views share the bytes";
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  EXPECT_TRUE(builder.constant_value(x).is_null());
  EXPECT_TRUE(builder.constant_value(builder.op(Op::kRELU, {c}).value()).is_null());
}

TEST(Builder, ConstantValueOfBroadcastAndEmptyViews) {
  GraphBuilder builder;
  const TensorId c = builder.constant(floats({}, {7})).value();
  const HostTensor wide = builder.constant_value(builder.broadcast(c, Shape{2, 2}).value());
  EXPECT_EQ(std::vector<float>(wide.data<float>(), wide.data<float>() + 4), (std::vector<float>{7, 7, 7, 7}));
  const HostTensor empty = builder.constant_value(builder.broadcast(c, Shape{0, 2}).value());
  EXPECT_FALSE(empty.is_null());
  EXPECT_EQ(empty.elements(), 0);
}

// ---- states

TEST(Builder, NodeIntoWritesAView) {
  GraphBuilder builder;
  const TensorId cache = builder.state("cache", DType::kF32, Shape{8, 4}).value();
  const TensorId x = builder.input("x", DType::kF32, Shape{2, 4}).value();
  const TensorId slot = builder.slice(cache, 0, 3, 2).value();
  EXPECT_EQ(builder.node_into(slot, Op::kCOPY, std::vector<TensorId>{x}).value(), slot);
  const TensorId sum = builder.op(Op::kREDUCE_SUM, {cache}, {{BP_ATTR_AXES, Shape{0}}}).value();
  ASSERT_TRUE(builder.output(sum, "sum").ok());
  const auto graph = builder.finish().value();
  ASSERT_EQ(graph->node_count(), 2u);
  EXPECT_EQ(graph->node(0).flags, BP_NODE_SIDE_EFFECT);
  const TensorId written = graph->node_outputs(0)[0];
  EXPECT_TRUE(graph->is_view(written));
  EXPECT_EQ(graph->tensor(written).offset, 3u * 16);
  const Storage& storage = graph->storage(graph->storage_of(written));
  EXPECT_EQ(storage.writer, kNone);
  EXPECT_EQ(storage.flags, BP_TENSOR_STATE);
  EXPECT_EQ(storage.reads, 1u);
}

TEST(Builder, NodeIntoRunsThoughNobodyReads) {
  GraphBuilder builder;
  const TensorId a = builder.state("a", DType::kF32, Shape{4}).value();
  ASSERT_TRUE(builder.state("unused", DType::kF32, Shape{4}).ok());
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  ASSERT_TRUE(builder.node_into(a, Op::kRELU, std::vector<TensorId>{x}).ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(graph->node_count(), 1u);
  EXPECT_EQ(graph->storage_count(), 2u) << "the state that nobody touches is dropped";
}

TEST(Builder, NodeIntoErrors) {
  GraphBuilder builder;
  const TensorId state = builder.state("s", DType::kF32, Shape{4}).value();
  const TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  const TensorId narrow = builder.slice(x, 0, 0, 2).value();
  const auto into = [&](TensorId target, TensorId from) {
    return builder.node_into(target, Op::kCOPY, std::vector<TensorId>{from}).status().message();
  };
  EXPECT_NE(into(x, x).find("no state tensor"), std::string::npos);
  EXPECT_NE(into(state, narrow).find("gives f32 [2]"), std::string::npos);
  const TensorId wide = builder.broadcast(state, Shape{2, 4}).value();
  EXPECT_NE(into(wide, x).find("share memory"), std::string::npos);
  const TensorId ints = builder.state("i", DType::kI32, Shape{4}).value();
  EXPECT_NE(into(ints, x).find("gives f32 [4]"), std::string::npos);
}

TEST(Builder, NodeIntoCopiesInputsThatOverlapTheTarget) {
  GraphBuilder builder;
  const TensorId state = builder.state("s", DType::kF32, Shape{6}).value();
  const TensorId low = builder.slice(state, 0, 0, 3).value();
  const TensorId high = builder.slice(state, 0, 3, 3).value();
  const TensorId middle = builder.slice(state, 0, 1, 3).value();
  ASSERT_TRUE(builder.node_into(low, Op::kRELU, std::vector<TensorId>{high}).ok());
  ASSERT_TRUE(builder.node_into(low, Op::kRELU, std::vector<TensorId>{middle}).ok());
  const auto graph = builder.finish().value();
  ASSERT_EQ(graph->node_count(), 3u);
  EXPECT_EQ(graph->op(0), Op::kRELU);
  EXPECT_EQ(graph->op(1), Op::kCOPY);
  EXPECT_EQ(graph->node_inputs(2)[0], graph->node_outputs(1)[0]);
}

TEST(Builder, SetRowsUpdatesItsTargetWithoutACopy) {
  GraphBuilder builder;
  const TensorId cache = builder.state("cache", DType::kF16, Shape{8, 4}).value();
  const TensorId rows = builder.input("rows", DType::kF32, Shape{2, 4}).value();
  const TensorId at = builder.input("at", DType::kI64, Shape{2}).value();
  EXPECT_EQ(builder.node_into(cache, Op::kSET_ROWS, std::vector<TensorId>{cache, rows, at}).value(), cache);
  const TensorId low = builder.slice(cache, 0, 0, 2).value();
  ASSERT_TRUE(builder.node_into(cache, Op::kSET_ROWS, std::vector<TensorId>{cache, low, at}).ok());
  const auto graph = builder.finish().value();
  ASSERT_EQ(graph->node_count(), 3u);
  EXPECT_EQ(graph->op(0), Op::kSET_ROWS);
  EXPECT_EQ(graph->node_inputs(0)[0], graph->node_outputs(0)[0]);
  EXPECT_EQ(graph->op(1), Op::kCOPY) << "rows that it overwrites";
  EXPECT_EQ(graph->node_inputs(2)[0], graph->node_outputs(2)[0]);
}

}  // namespace
}  // namespace backplane
