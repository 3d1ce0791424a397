#include "backplane/graph/builder.hpp"
#include "evaluation.hpp"

namespace backplane::reference {
namespace {

TEST(ReferenceRun, ViewsAreReadByTheirStrides) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2, 3}).value();
  const TensorId turned = builder.permute(x, Shape{1, 0}).value();
  const TensorId second = builder.slice(turned, 0, 1, 2).value();  // columns 1 and 2
  const TensorId y = builder.op(Op::kNEG, {second}).value();
  ASSERT_TRUE(builder.output(y, "y").ok());
  ASSERT_TRUE(builder.output(turned, "turned").ok());
  const auto graph = builder.finish().value();
  const auto result = run(*graph, {{"x", f32({2, 3}, {1, 2, 3, 4, 5, 6})}});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ((*result)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(values<float>((*result)[0]), (std::vector<float>{-2, -5, -3, -6}));
  EXPECT_EQ(values<float>((*result)[1]), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(ReferenceRun, BroadcastViewsConstantsAndSeveralOutputs) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{1, 1, 3}).value();
  const TensorId c = builder.constant(f32({1}, {10})).value();
  const TensorId wide = builder.broadcast(c, Shape{1, 1, 3}).value();
  const TensorId sum = builder.op(Op::kADD, {x, wide}).value();
  const bool wanted[] = {true, true};
  const auto pooled = builder.node(Op::kMAX_POOL, std::vector{sum}, {{BP_ATTR_KERNEL_SHAPE, I64s{3}}}, wanted).value();
  ASSERT_TRUE(builder.output(pooled[1], "index").ok());
  ASSERT_TRUE(builder.output(pooled[0], "value").ok());
  const auto graph = builder.finish().value();
  const auto result = run(*graph, {{"x", f32({1, 1, 3}, {1, 5, 2})}});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(values<int64_t>((*result)[0]), (I64s{1}));
  EXPECT_EQ(values<float>((*result)[1]), (std::vector<float>{15}));
}

TEST(ReferenceRun, StatesStartAsZerosAndAreWrittenInPlace) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  const TensorId state = builder.state("cache", DType::kF32, Shape{2, 2}).value();
  const TensorId before = builder.op(Op::kCOPY, {state}).value();
  const TensorId column = builder.reshape(builder.slice(state, 1, 1, 1).value(), Shape{2}).value();  // strided
  const TensorId written = builder.node_into(column, Op::kNEG, std::vector{x}).value();
  ASSERT_TRUE(builder.output(before, "before").ok());
  ASSERT_TRUE(builder.output(written, "written").ok());
  ASSERT_TRUE(builder.output(state, "after").ok());
  const auto graph = builder.finish().value();
  const auto result = run(*graph, {{"x", f32({2}, {1, 2})}});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(values<float>((*result)[0]), (std::vector<float>{0, 0, 0, 0}));
  expect_same(values<float>((*result)[1]), {-1, -2});
  expect_same(values<float>((*result)[2]), {0, -1, 0, -2});
}

TEST(ReferenceRun, ReportsBadInputsAndTheFailingNode) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  const TensorId i = builder.input("i", DType::kI64, Shape{1}).value();
  const TensorId y = builder.op(Op::kGATHER, {x, i}, {}, "lookup").value();
  ASSERT_TRUE(builder.output(y, "y").ok());
  const auto graph = builder.finish().value();
  const HostTensor good = f32({2}, {1, 2});
  EXPECT_EQ(run(*graph, {{"x", good}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(run(*graph, {{"x", good}, {"i", i32({1}, {0})}}).status().code(), Code::invalid_argument);
  EXPECT_EQ(run(*graph, {{"x", good}, {"i", i64({1}, {0})}, {"z", good}}).status().code(), Code::not_found);
  const Status status = run(*graph, {{"x", good}, {"i", i64({1}, {9})}}).status();
  EXPECT_EQ(status.code(), Code::out_of_range);
  EXPECT_NE(status.message().find("lookup"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace backplane::reference
