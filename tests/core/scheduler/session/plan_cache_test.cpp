// Graphs that take turns in one session.
#include <gtest/gtest.h>

#include "fake_runtime.hpp"
#include "small_graphs.hpp"

namespace backplane {
namespace {

using testing::accumulator;
using testing::adding_chain;
using testing::FakeRuntime;
using testing::first_of;
using testing::small_value;

HostTensor filled(std::vector<int64_t> shape, int32_t value) {
  HostTensor tensor = HostTensor::zeros(DType::kI32, std::move(shape)).value();
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.mutable_data<int32_t>()[i] = value;
  return tensor;
}

int32_t run(Session& session, const HostTensor& x) {
  EXPECT_TRUE(session.set_input("x", x).ok());
  const Status status = session.run();
  EXPECT_TRUE(status.ok()) << status.to_string();
  return first_of(session.output("y"));
}

TEST(PlanCache, TwoShapesInTurnArePlannedOnce) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto session = Session::prepare(*runtime, adding_chain(3)).value();
  const auto large = adding_chain(3, {64, 64});
  const auto small = adding_chain(3);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(session->use(large).ok());
    EXPECT_EQ(run(*session, filled({64, 64}, i)), i + 3);
    ASSERT_TRUE(session->use(small).ok());
    EXPECT_EQ(run(*session, small_value(-i)), 3 - i);
  }
  EXPECT_EQ(session->totals().plans_made, 2u);
  EXPECT_EQ(session->totals().plan_hits, 19u);
  const uint64_t growths = session->totals().arena_growths;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(session->use(large).ok());
    ASSERT_TRUE(session->use(small).ok());
  }
  EXPECT_EQ(session->totals().arena_growths, growths);
}

// The same nodes and sizes with another edge must not be run by the old plan (ggml's silent wrong result).
TEST(PlanCache, AnotherEdgeIsAnotherPlan) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto graph = [](bool skip) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    const TensorId a = builder.op(Op::kNEG, {x}).value();
    const TensorId b = builder.op(Op::kADD, {a, x}).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kSUB, {b, skip ? x : a}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(false)).value();
  EXPECT_EQ(run(*session, small_value(5)), 5);
  ASSERT_TRUE(session->use(graph(true)).ok());
  EXPECT_EQ(run(*session, small_value(5)), -5);
  EXPECT_EQ(session->totals().plans_made, 2u);
}

TEST(PlanCache, OtherConstantsInTheSameStructureAreNotMixedUp) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto graph = [](int32_t constant) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    const TensorId c = builder.constant(small_value(constant)).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kADD, {x, c}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(10)).value();
  EXPECT_EQ(run(*session, small_value(1)), 11);
  ASSERT_TRUE(session->use(graph(20)).ok());
  EXPECT_EQ(run(*session, small_value(1)), 21);
  EXPECT_EQ(session->totals().plans_made, 1u);  // the structure is planned once
}

TEST(PlanCache, TheLeastUsedPlanGivesWay) {
  FakeRuntime runtime(R"({"devices": 1})");
  SessionOptions options;
  options.cached_plans = 2;
  const auto session = Session::prepare(*runtime, adding_chain(1), {}, options).value();
  ASSERT_TRUE(session->use(adding_chain(2)).ok());
  ASSERT_TRUE(session->use(adding_chain(1)).ok());
  EXPECT_EQ(session->totals().plans_made, 2u);
  ASSERT_TRUE(session->use(adding_chain(3)).ok());  // takes the place of the second
  ASSERT_TRUE(session->use(adding_chain(1)).ok());
  EXPECT_EQ(session->totals().plans_made, 3u);
  ASSERT_TRUE(session->use(adding_chain(2)).ok());
  EXPECT_EQ(session->totals().plans_made, 4u);
  EXPECT_EQ(run(*session, small_value(0)), 2);
}

TEST(PlanCache, StatesOfOneNameAreOneState) {
  FakeRuntime runtime(R"({"devices": 2})");
  SessionOptions options;
  options.plan.locations = {{"sum", 1}};
  const auto session = Session::prepare(*runtime, accumulator(), {}, options).value();
  EXPECT_EQ(run(*session, small_value(3)), 3);
  const auto doubling = [] {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    const TensorId sum = builder.state("sum", DType::kI32, testing::kSmallShape).value();
    const TensorId twice = builder.op(Op::kADD, {sum, sum}).value();
    const TensorId next = builder.op(Op::kADD, {twice, x}).value();
    EXPECT_TRUE(builder.output(builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}).value(), "y").ok());
    return builder.finish().value();
  }();
  ASSERT_TRUE(session->use(doubling).ok());
  EXPECT_EQ(run(*session, small_value(0)), 6);
  ASSERT_TRUE(session->use(accumulator()).ok());
  EXPECT_EQ(run(*session, small_value(1)), 7);
}

TEST(PlanCache, AStateOfAnotherSizeIsRefusedAndTheGraphStays) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, accumulator()).value();
  EXPECT_EQ(run(*session, small_value(3)), 3);
  GraphBuilder builder;
  const TensorId sum = builder.state("sum", DType::kI32, std::vector<int64_t>{5}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {sum}).value(), "y").ok());
  EXPECT_EQ(session->use(builder.finish().value()).id(), "session.state-size");
  EXPECT_EQ(run(*session, small_value(3)), 6);
}

TEST(PlanCache, AGraphThatDoesNotFitLeavesTheOldOneRunning) {
  FakeRuntime runtime(R"({"devices": 1, "memory_limit_bytes": 65536})");
  const auto session = Session::prepare(*runtime, adding_chain(2)).value();
  EXPECT_EQ(session->use(adding_chain(2, {1 << 20})).code(), Code::resource_exhausted);
  EXPECT_EQ(run(*session, small_value(1)), 3);
  EXPECT_EQ(session->use(nullptr).code(), Code::invalid_argument);
  ASSERT_TRUE(session->use(adding_chain(3)).ok());
  EXPECT_EQ(session->run().id(), "session.input-unset");
  EXPECT_EQ(run(*session, small_value(1)), 4);
}

}  // namespace
}  // namespace backplane
