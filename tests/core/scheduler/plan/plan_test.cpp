#include "backplane/scheduler/plan.hpp"

#include <gtest/gtest.h>

#include "backplane/base/text.hpp"
#include "backplane/graph/builder.hpp"
#include "fake_device.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;
using testing::make_random_graph;

const std::vector<int64_t> kShape = {4, 8};

// x -> neg -> neg -> ... (count nodes), named n0, n1, ...
std::shared_ptr<const Graph> chain(int count) {
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kI32, kShape).value();
  for (int i = 0; i < count; ++i) x = builder.op(Op::kNEG, {x}, {}, "n" + std::to_string(i)).value();
  EXPECT_TRUE(builder.output(x, "y").ok());
  return builder.finish().value();
}

TEST(Plan, OneDeviceIsOneSplitWithoutCopies) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto plan = make_plan(chain(5), runtime.devices()).value();
  ASSERT_EQ(plan->splits.size(), 1u);
  EXPECT_EQ(plan->splits[0].node_count, 5u);
  EXPECT_TRUE(plan->copies.empty());
  EXPECT_EQ(plan->copy_bytes, 0u);
}

TEST(Plan, PinsCutTheGraphAndHoldExactly) {
  FakeRuntime runtime(R"({"devices": 2})");
  PlanOptions options;
  options.pins = {{"n0", 1}, {"n1", 1}, {"n2", 0}, {"n3", 1}};
  const auto plan = make_plan(chain(4), runtime.devices(), options).value();
  ASSERT_EQ(plan->splits.size(), 3u);
  EXPECT_EQ(plan->splits[0].device, 1u);
  EXPECT_EQ(plan->splits[1].device, 0u);
  EXPECT_EQ(plan->splits[2].device, 1u);
  for (const Placement& placement : plan->placements) EXPECT_EQ(placement.cause, Cause::pin);
  // The input is on the last device, so two copies of 128 bytes: n1's result to device 0, n2's back.
  ASSERT_EQ(plan->copies.size(), 2u);
  EXPECT_EQ(plan->copy_bytes, 2u * 4 * 8 * 4);
  EXPECT_EQ(plan->copies[0].from, 1u);
  EXPECT_EQ(plan->copies[0].to, 0u);
  EXPECT_EQ(plan->copies[0].split, 1u);
}

// x + w0 + w1 + w2, weights too large to be put wherever they are read.
std::shared_ptr<const Graph> sum_of_weights() {
  const std::vector<int64_t> shape = {64, 1024};
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kI32, shape).value();
  for (int i = 0; i < 3; ++i) {
    const TensorId w = builder.constant(HostTensor::zeros(DType::kI32, shape).value(), cat("w", i)).value();
    x = builder.op(Op::kADD, {x, w}, {}, cat("add", i)).value();
  }
  EXPECT_TRUE(builder.output(x, "y").ok());
  return builder.finish().value();
}

TEST(Plan, LocationsHoldInAnyOrder) {
  FakeRuntime runtime(R"({"devices": 3})");
  using Locations = decltype(PlanOptions::locations);
  for (const Locations& locations :
       {Locations{{"w0", 1}, {"w1", 0}, {"w2", 2}}, Locations{{"w2", 2}, {"w0", 1}, {"w1", 0}},
        Locations{{"w0", 1}, {"w2", 1}, {"w1", 0}, {"w2", 2}}}) {  // the later of two
    PlanOptions options;
    options.locations = locations;
    const auto plan = make_plan(sum_of_weights(), runtime.devices(), options).value();
    EXPECT_EQ(plan->placements[0].device, 1u);
    EXPECT_EQ(plan->placements[1].device, 0u);
    EXPECT_EQ(plan->placements[2].device, 2u);
  }
}

TEST(Plan, LocationsOfNothingAreErrors) {
  FakeRuntime runtime(R"({"devices": 2})");
  PlanOptions options;
  options.locations = {{"w0", 1}, {"ww2", 1}};
  Status status = make_plan(sum_of_weights(), runtime.devices(), options).status();
  EXPECT_EQ(status.id(), "plan.location-name");
  EXPECT_NE(status.message().find("did you mean 'w2'"), std::string::npos) << status.message();
  options.locations = {{"w0", 1}, {"w2", 2}};
  status = make_plan(sum_of_weights(), runtime.devices(), options).status();
  EXPECT_EQ(status.id(), "plan.location-device");
  EXPECT_NE(status.message().find("location of 'w2'"), std::string::npos) << status.message();
  options.locations.clear();
  options.weights_device = 7;
  EXPECT_EQ(make_plan(sum_of_weights(), runtime.devices(), options).status().id(), "plan.location-device");
}

TEST(Plan, AStorageIsCopiedOncePerDevice) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId a = builder.op(Op::kNEG, {x}, {}, "a").value();
  const TensorId left = builder.slice(a, 1, 0, 4).value();
  const TensorId right = builder.slice(a, 1, 4, 4).value();
  const TensorId b = builder.op(Op::kADD, {left, right}, {}, "b").value();
  const TensorId c = builder.op(Op::kSUB, {left, b}, {}, "c").value();
  ASSERT_TRUE(builder.output(c, "y").ok());
  PlanOptions options;
  options.pins = {{"a", 1}, {"b", 0}, {"c", 0}};
  const auto plan = make_plan(builder.finish().value(), runtime.devices(), options).value();
  EXPECT_EQ(plan->copies.size(), 1u);
}

TEST(Plan, AWeightPullsItsOpToTheFirstDeviceThatRunsIt) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId w = builder.constant(HostTensor::zeros(DType::kI32, kShape).value(), "w").value();
  const TensorId y = builder.op(Op::kADD, {x, w}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {y}).value(), "y").ok());
  const auto plan = make_plan(builder.finish().value(), runtime.devices()).value();
  EXPECT_EQ(plan->placements[0].device, 0u);
  EXPECT_EQ(plan->placements[0].cause, Cause::weight);
  EXPECT_EQ(plan->placements[1].device, 0u);
  EXPECT_EQ(plan->weight_bytes, 4u * 8 * 4);
}

TEST(Plan, ExpansionFollowsNeighbours) {
  FakeRuntime runtime(R"({"devices": 3})");
  PlanOptions options;
  options.pins = {{"n2", 1}};
  const auto plan = make_plan(chain(5), runtime.devices(), options).value();
  for (const Placement& placement : plan->placements) EXPECT_EQ(placement.device, 1u);
  EXPECT_EQ(plan->placements[0].cause, Cause::expand_up);
  EXPECT_EQ(plan->placements[4].cause, Cause::expand_down);
}

// Where two devices would do equally well it is the one before, whatever the order of operands (invariant 7).
TEST(Plan, OfEqualDevicesTheFirstIsTaken) {
  FakeRuntime runtime(R"({"devices": 4, "0-deny": "sub", "3-deny": "*"})");
  for (const PlacementMode mode : {PlacementMode::greedy, PlacementMode::mincomm, PlacementMode::cost})
    for (const bool first_left : {false, true}) {
      SCOPED_TRACE(std::string(mode_name(mode)) + (first_left ? ", left" : ", right"));
      GraphBuilder builder;
      const auto input = [&](const char* name) { return builder.input(name, DType::kI32, kShape).value(); };
      const TensorId a = builder.op(Op::kNEG, {input("p")}, {}, "a").value();
      const TensorId b = builder.op(Op::kABS, {input("q")}, {}, "b").value();
      const TensorId left = first_left ? a : b, right = first_left ? b : a;
      ASSERT_TRUE(builder.output(builder.op(Op::kSUB, {left, right}, {}, "joined").value(), "y").ok());
      PlanOptions options;
      options.mode = mode;
      options.pins = {{"a", 2}, {"b", 1}};
      if (mode == PlacementMode::cost) options.device_costs.assign(4, default_costs(BP_DEVICE_ACCEL));
      const auto plan = make_plan(builder.finish().value(), runtime.devices(), options).value();
      ASSERT_EQ(plan->graph->node_name(2), "joined");
      EXPECT_EQ(plan->placements[2].device, 1u) << plan->explain(2);
    }
}

// However devices and options are, each device is asked once about each node (invariant 33).
TEST(Plan, DevicesAreAskedOnceAboutEachNode) {
  for (const char* world : {R"({"devices": 1})", R"({"devices": 5, "supports": "alternate"})"})
    for (const PlacementMode mode : {PlacementMode::greedy, PlacementMode::mincomm, PlacementMode::cost})
      for (const int size : {1, 30, 3000}) {
        FakeRuntime runtime(world);
        PlanOptions options;
        options.mode = mode;
        options.device_costs.assign(runtime.devices().size(), default_costs(BP_DEVICE_ACCEL));
        const auto graph = chain(size);
        testing::reset_fakes(runtime.devices());
        ASSERT_TRUE(make_plan(graph, runtime.devices(), options).ok());
        for (const Device* device : runtime.devices()) {
          EXPECT_EQ(testing::fake_counters(*device).queries, 1u);
          EXPECT_EQ(testing::fake_counters(*device).queried_nodes, static_cast<uint64_t>(size));
        }
      }
}

TEST(Plan, BadPinsAreErrors) {
  FakeRuntime runtime(R"({"devices": 2, "deny": "neg"})");
  PlanOptions options;
  options.pins = {{"nope", 0}};
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {x, x}, {}, "node").value(), "y").ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(make_plan(graph, runtime.devices(), options).status().id(), "plan.pin-node");
  EXPECT_NE(make_plan(graph, runtime.devices(), options).status().message().find("did you mean 'node'"),
            std::string::npos);
  options.pins = {{"node", 7}};
  EXPECT_EQ(make_plan(graph, runtime.devices(), options).status().id(), "plan.pin-device");
}

TEST(Plan, NodesThatNobodyRunsAreAllNamed) {
  FakeRuntime runtime(R"({"devices": 2, "deny": "neg"})");
  const Status status = make_plan(chain(3), runtime.devices()).status();
  EXPECT_EQ(status.id(), "plan.no-device");
  EXPECT_NE(status.message().find("3 nodes"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("n0"), std::string::npos);
  EXPECT_NE(status.message().find("n2"), std::string::npos);
  EXPECT_NE(status.message().find(runtime.devices()[1]->name()), std::string::npos);
}

TEST(Plan, NoDevicesIsAnError) { EXPECT_EQ(make_plan(chain(1), {}).status().id(), "plan.no-devices"); }

TEST(Plan, ATensorLargerThanTheLargestBufferIsNamed) {
  FakeRuntime runtime(R"({"devices": 1, "max_buffer_bytes": 4096})");
  GraphBuilder builder;
  const TensorId x = builder.input("much", DType::kI32, std::vector<int64_t>{2000}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
  const Status status = make_plan(builder.finish().value(), runtime.devices()).status();
  EXPECT_EQ(status.id(), "plan.tensor-too-large");
  EXPECT_NE(status.message().find("7.8 KiB"), std::string::npos) << status.message();
}

TEST(Plan, EqualQuestionsGiveEqualPlans) {
  FakeRuntime runtime(R"({"devices": 3, "supports": "alternate"})");
  const auto random = make_random_graph(11, 60);
  const std::string first = make_plan(random.graph, runtime.devices()).value()->to_json().dump();
  const std::string second = make_plan(random.graph, runtime.devices()).value()->to_json().dump();
  EXPECT_EQ(first, second);
}

// What must hold for every plan: each node once, in order, on a device that runs it; every input readable there.
TEST(Plan, InvariantsHoldOnRandomGraphs) {
  FakeRuntime runtime(R"({"devices": 3, "supports": "alternate"})");
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto random = make_random_graph(seed, 40);
    const auto plan = make_plan(random.graph, runtime.devices()).value();
    std::vector<bool> done(random.graph->node_count(), false);
    uint32_t next = 0;
    for (const Split& split : plan->splits) {
      ASSERT_EQ(split.first_node, next);
      next += split.node_count;
      for (const NodeId node : plan->nodes(split)) {
        ASSERT_FALSE(done[node]);
        done[node] = true;
        for (const TensorId input : random.graph->node_inputs(node)) {
          const NodeId writer = input == kNone ? kNone : random.graph->storage(random.graph->storage_of(input)).writer;
          ASSERT_TRUE(writer == kNone || done[writer]);
        }
        ASSERT_EQ(plan->placements[node].device, split.device);
        ASSERT_NE(plan->placements[node].verdict, BP_VERDICT_NO);
      }
    }
    ASSERT_EQ(next, random.graph->node_count());
    for (const PlannedCopy& copy : plan->copies) ASSERT_NE(copy.from, copy.to);
    for (const Pool& pool : plan->pools) ASSERT_GE(pool.peak_bytes, pool.lower_bound_bytes);
  }
}

}  // namespace
}  // namespace backplane
