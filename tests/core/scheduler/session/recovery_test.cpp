// Devices that refuse, are lost or have no memory: others take over, or the run fails cleanly.
#include <gtest/gtest.h>

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

TEST(Recovery, ARefusalWhenCompilingGoesToTheNextDevice) {
  FakeRuntime runtime(R"({"devices": 2, "0-refuse_compile": "add"})");
  const auto session = Session::prepare(*runtime, adding_chain(3)).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 4);
  for (const Placement& placement : session->plan().placements) EXPECT_EQ(placement.device, 1u);
  ASSERT_EQ(session->incidents().size(), 1u);
  EXPECT_NE(session->incidents()[0].find("next device"), std::string::npos) << session->incidents()[0];
}

TEST(Recovery, ARefusalIsRememberedForOtherGraphs) {
  FakeRuntime runtime(R"({"devices": 2, "0-refuse_submit": "add"})");
  const auto session = Session::prepare(*runtime, adding_chain(3)).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  ASSERT_TRUE(session->run().ok());
  const uint64_t recoveries = session->totals().recoveries;
  EXPECT_GE(recoveries, 1u);
  ASSERT_TRUE(session->use(adding_chain(5)).ok());
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 6);
  EXPECT_EQ(session->totals().recoveries, recoveries);
}

// Devices that work in the background take a split and say later that they do not run it; which of several it was is
// found out, and the others stay where they are.
TEST(Recovery, ALateRefusalGoesToTheNextDeviceAndIsRemembered) {
  for (const char* world :
       {R"({"devices": 3, "async": true, "0-refuse_run": "neg"})",
        R"({"devices": 3, "async": true, "0-refuse_run": "neg", "events": false, "peer_copy": false})",
        R"({"devices": 3, "async": true, "0-refuse_run": "neg", "memory": "host", "max_delay_us": 50})"}) {
    SCOPED_TRACE(world);
    FakeRuntime runtime(world);
    const auto graph = [](int pairs) {  // x + pairs
      GraphBuilder builder;
      const TensorId one = builder.constant(small_value(1), "one").value();
      TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
      for (int i = 0; i < 2 * pairs; ++i) {
        const std::string number = std::to_string(i);
        x = builder.op(Op::kADD, {x, one}, {}, "add" + number).value();
        x = builder.op(Op::kNEG, {x}, {}, "neg" + number).value();
        x = builder.op(Op::kADD, {x, one}, {}, "back" + number).value();
      }
      EXPECT_TRUE(builder.output(x, "y").ok());
      return builder.finish().value();
    };
    SessionOptions options;
    options.plan.mode = PlacementMode::greedy;
    for (NodeId node = 0; node < 12; ++node)
      if (node % 3 != 2) options.plan.cuts.push_back(node);  // a split for each of op neg
    const auto session = Session::prepare(*runtime, graph(2), {}, options).value();
    EXPECT_EQ(session->plan().placements[1].device, 0u);
    EXPECT_GT(session->plan().splits.size(), 3u);
    for (int32_t run = 0; run < 3; ++run) {
      ASSERT_TRUE(session->set_input("x", small_value(run)).ok());
      const Status status = session->run();
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_EQ(first_of(session->output("y")), run);
    }
    for (NodeId node = 0; node < session->graph().node_count(); ++node)
      EXPECT_EQ(session->plan().placements[node].device == 0, session->graph().op(node) == Op::kADD) << node;
    const uint64_t recoveries = session->totals().recoveries;
    EXPECT_GE(recoveries, 2u);
    ASSERT_TRUE(session->use(graph(1)).ok());
    ASSERT_TRUE(session->set_input("x", small_value(7)).ok());
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(first_of(session->output("y")), 7);
    EXPECT_EQ(session->totals().recoveries, recoveries);
  }
}

// The device that is lost is the one that goes, not the one that waits for it.
TEST(Recovery, ALossIsNotTakenForThatOfTheDeviceThatWaits) {
  for (const int lost : {0, 1}) {
    SCOPED_TRACE(lost);
    FakeRuntime runtime(
        R"({"devices": 3, "async": true, "peer_copy": false, "max_delay_us": 100, "lose_at_call": 2, "fault_device": )" +
        std::to_string(lost) + "}");
    const auto session = Session::prepare(*runtime, adding_chain(6), {}, in_turn(6, 2)).value();
    ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
    const Status status = session->run();
    EXPECT_FALSE(status.ok());  // the pins are to both
    ASSERT_EQ(session->incidents().size(), 1u);
    EXPECT_EQ(session->incidents()[0].find(runtime.devices()[static_cast<size_t>(lost)]->name() + " was lost"), 0u)
        << session->incidents()[0];
  }
}

TEST(Recovery, ALostDeviceIsReplacedInTheMiddleOfARun) {
  for (const char* world :
       {R"({"devices": 3, "fault_device": 0, "lose_at_call": 2})",
        R"({"devices": 3, "fault_device": 2, "lose_at_call": 1})",
        R"({"devices": 3, "fault_device": 0, "lose_at_call": 2, "async": true})",
        R"({"devices": 3, "fault_device": 0, "lose_at_call": 2, "async": true, "events": false})"}) {
    SCOPED_TRACE(world);
    FakeRuntime runtime(world);
    // Alternating without pins: every third node each.
    SessionOptions options;
    options.plan.mode = PlacementMode::greedy;
    options.plan.locations = {};
    GraphBuilder builder;
    TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    for (int i = 0; i < 9; ++i) {
      const TensorId c = builder.constant(small_value(1), "c" + std::to_string(i)).value();
      x = builder.op(Op::kADD, {x, c}).value();
      options.plan.locations.emplace_back("c" + std::to_string(i), static_cast<uint32_t>(i % 3));
    }
    options.plan.soft_weights = false;
    ASSERT_TRUE(builder.output(x, "y").ok());
    const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
    ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(first_of(session->output("y")), 10);
    EXPECT_TRUE(session->statistics().degraded);
    ASSERT_FALSE(session->incidents().empty());
    EXPECT_NE(session->incidents()[0].find("lost"), std::string::npos);
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(session->totals().recoveries, 1u);
  }
}

TEST(Recovery, CanBeSwitchedOff) {
  FakeRuntime runtime(R"({"devices": 2, "fault_device": 0, "lose_at_call": 1})");
  SessionOptions options;
  options.recover = false;
  const auto session = Session::prepare(*runtime, adding_chain(2), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  EXPECT_EQ(session->run().id(), "abi.e_device_lost");
}

// A state on a lost device is gone. Zeros in its place would be wrong numbers.
TEST(Recovery, ALostStateIsSaidAndNeverReplacedByZeros) {
  FakeRuntime runtime(R"({"devices": 2, "fault_device": 0, "lose_at_call": 3})");
  SessionOptions options;
  options.plan.locations = {{"sum", 0}};
  const auto session = Session::prepare(*runtime, accumulator(), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  ASSERT_TRUE(session->run().ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 2);
  for (int i = 0; i < 3; ++i) {
    const Status status = session->run();
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(session->output("y").ok());
  }
  EXPECT_FALSE(session->use(accumulator()).ok() && session->run().ok());
}

TEST(Recovery, AGraphGoesWithoutADeviceThatHasNoMemoryForIt) {
  FakeRuntime runtime(R"({"devices": 2, "0-memory_limit_bytes": 8192})");
  const auto session = Session::prepare(*runtime, adding_chain(2, {4096})).value();
  HostTensor x = HostTensor::zeros(DType::kI32, {4096}).value();
  ASSERT_TRUE(session->set_input("x", x).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 2);
  EXPECT_EQ(session->incidents().size(), 1u);
  // A small one uses it.
  ASSERT_TRUE(session->use(adding_chain(2)).ok());
  EXPECT_EQ(session->plan().placements[0].device, 0u);
}

TEST(Recovery, PinsToAFailedDeviceAreAnErrorThatSaysSo) {
  FakeRuntime runtime(R"({"devices": 2, "0-memory_limit_bytes": 4096})");
  PlanOptions plan;
  plan.pins = {{"n0", 0}};
  const Status status = Session::prepare(*runtime, adding_chain(2, {4096}), {}, plan).status();
  EXPECT_EQ(status.code(), Code::resource_exhausted) << status.to_string();
}

}  // namespace
}  // namespace backplane
