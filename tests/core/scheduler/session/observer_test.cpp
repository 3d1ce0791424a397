// Observed runs, time limits, cancelling.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fake_runtime.hpp"
#include "small_graphs.hpp"

namespace backplane {
namespace {

using testing::accumulator;
using testing::adding_chain;
using testing::FakeRuntime;
using testing::first_of;
using testing::in_turn;
using testing::small_value;

TEST(Observer, SeesEveryNodeWithItsResult) {
  for (const char* world : {R"({"devices": 2})", R"({"devices": 2, "async": true, "max_delay_us": 50})"}) {
    FakeRuntime runtime(world);
    const auto session = Session::prepare(*runtime, adding_chain(6), {}, in_turn(6, 2)).value();
    ASSERT_TRUE(session->set_input("x", small_value(10)).ok());
    std::vector<int32_t> seen;
    Observer observer;
    observer.take = [&](NodeId node, const std::vector<HostTensor>& outputs) {
      EXPECT_EQ(node, seen.size());
      seen.push_back(testing::list_of(outputs.at(0)).front());
      return true;
    };
    RunOptions options;
    options.observer = &observer;
    const Status status = session->run(options);
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(seen, (std::vector<int32_t>{11, 12, 13, 14, 15, 16}));
    EXPECT_EQ(first_of(session->output("y")), 16);
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(first_of(session->output("y")), 16);
  }
}

TEST(Observer, IsGivenOnlyWhatItWants) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, adding_chain(5)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  std::vector<NodeId> seen;
  const Observer observer{[](NodeId node) { return node == 3; },
                          [&](NodeId node, const std::vector<HostTensor>&) {
                            seen.push_back(node);
                            return true;
                          }};
  ASSERT_TRUE(session->run({.observer = &observer}).ok());
  EXPECT_EQ(seen, std::vector<NodeId>{3});
}

// ggml's callback stopped only the split that it was called in.
TEST(Observer, FalseCancelsTheWholeRun) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto session = Session::prepare(*runtime, adding_chain(6), {}, in_turn(6, 2)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  int calls = 0;
  const Observer observer{nullptr, [&](NodeId, const std::vector<HostTensor>&) { return ++calls < 2; }};
  EXPECT_EQ(session->run({.observer = &observer}).code(), Code::cancelled);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(session->output("y").ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 6);
}

TEST(Observer, StatesGoOnThroughObservedRuns) {
  FakeRuntime runtime(R"({"devices": 2})");
  PlanOptions plan;
  plan.pins = {{"add", 0}, {"store", 1}};
  const auto session = Session::prepare(*runtime, accumulator(), {}, plan).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  const Observer observer{nullptr, [](NodeId, const std::vector<HostTensor>&) { return true; }};
  for (int i = 1; i <= 6; ++i) {
    ASSERT_TRUE((i % 2 == 0 ? session->run({.observer = &observer}) : session->run()).ok());
    EXPECT_EQ(first_of(session->output("y")), i);
  }
}

TEST(Observer, IsNotForSubmit) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, adding_chain(1)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  Observer observer;
  EXPECT_EQ(session->submit({.observer = &observer}).status().code(), Code::invalid_argument);
  EXPECT_EQ(session->run({.observer = &observer}).code(), Code::invalid_argument);  // it takes nothing
}

TEST(Timeout, ASlowRunIsCancelledAndTheNextOneWorks) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "seed": 3, "max_delay_us": 4000})");
  const auto session = Session::prepare(*runtime, adding_chain(400), {}, in_turn(400, 2)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  const Status late = session->run({.timeout_ns = 1000000});
  EXPECT_EQ(late.code(), Code::deadline_exceeded) << late.to_string();
  EXPECT_EQ(late.id(), "session.timeout");
  ASSERT_TRUE(session->run({.timeout_ns = 600000000000}).ok());
  EXPECT_EQ(first_of(session->output("y")), 400);
}

TEST(Timeout, HoldsForObservedRuns) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, adding_chain(20)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  int calls = 0;
  const Observer observer{nullptr, [&](NodeId, const std::vector<HostTensor>&) { return ++calls > 0; }};
  EXPECT_EQ(session->run({.timeout_ns = 1, .observer = &observer}).code(), Code::deadline_exceeded);
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(session->run({.observer = &observer}).ok());
  EXPECT_EQ(calls, 20);
}

TEST(Timeout, HoldsForDevicesThatBlockToo) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, adding_chain(200)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  EXPECT_EQ(session->run({.timeout_ns = 1}).code(), Code::deadline_exceeded);
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 200);
}

TEST(Cancel, EndsAllRunsInFlight) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "seed": 4, "max_delay_us": 2000})");
  SessionOptions options(in_turn(200, 2));
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(200), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  std::vector<uint64_t> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(session->submit().value());
  session->cancel();
  for (const uint64_t run : runs) EXPECT_EQ(session->wait(run).code(), Code::cancelled);
  const Status again = session->run();
  ASSERT_TRUE(again.ok()) << again.to_string();
  EXPECT_EQ(first_of(session->output("y")), 200);
}

TEST(Cancel, WithNothingInFlightIsNothing) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, adding_chain(1)).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  session->cancel();
  EXPECT_TRUE(session->run().ok());
}

TEST(Cancel, ASessionMayBeDestroyedWithRunsInFlight) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "seed": 4, "max_delay_us": 500})");
  SessionOptions options(in_turn(50, 2));
  options.pipeline_depth = 2;
  const auto session = Session::prepare(*runtime, adding_chain(50), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(0)).ok());
  ASSERT_TRUE(session->submit().ok());
  ASSERT_TRUE(session->submit().ok());
}

}  // namespace
}  // namespace backplane
