#include "scheduler/placement/costs.hpp"

#include <gtest/gtest.h>

#include <array>

#include "backplane/graph/builder.hpp"
#include "graph_families.hpp"

namespace backplane {
namespace {

using testing::CasePlacer;
using testing::make_random_case;
using testing::PlacedCase;
using testing::PlacementCase;

std::shared_ptr<const Graph> one_node(Op op, std::vector<std::vector<int64_t>> shapes, const AttrList& attrs = {}) {
  GraphBuilder builder;
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(builder.input("x" + std::to_string(i), DType::kF32, shapes[i]).value());
  EXPECT_TRUE(builder.output(builder.op(op, inputs, attrs).value(), "y").ok());
  return builder.finish().value();
}

TEST(Costs, ClassesAndWork) {
  const auto matmul = one_node(Op::kMATMUL, {{8, 16}, {16, 32}});
  EXPECT_EQ(op_class(*matmul, 0), OpClass::matmul);
  EXPECT_EQ(node_flops(*matmul, 0), 2u * 8 * 16 * 32);
  EXPECT_EQ(node_bytes(*matmul, 0), 4u * (8 * 16 + 16 * 32 + 8 * 32));
  EXPECT_TRUE(is_heavy(*matmul, 0));
  const auto conv = one_node(Op::kCONV, {{1, 3, 8, 8}, {5, 3, 3, 3}});
  EXPECT_EQ(op_class(*conv, 0), OpClass::convolution);
  EXPECT_EQ(node_flops(*conv, 0), 2u * 5 * 6 * 6 * (3 * 3 * 3));
  const auto add = one_node(Op::kADD, {{8}, {8}});
  EXPECT_EQ(op_class(*add, 0), OpClass::elementwise);
  EXPECT_FALSE(is_heavy(*add, 0));
  EXPECT_TRUE(is_heavy(*one_node(Op::kADD, {{1 << 20}, {1 << 20}}), 0));
  const auto concat = one_node(Op::kCONCAT, {{8}, {8}}, {{BP_ATTR_AXIS, int64_t{0}}});
  EXPECT_EQ(op_class(*concat, 0), OpClass::movement);
  EXPECT_EQ(node_flops(*concat, 0), 0u);
}

TEST(Costs, CopiesGoThroughTheHost) {
  DeviceCosts gpu, host;
  gpu.link_latency_ns = 1000;
  gpu.link_bytes_per_us = 1000;
  host.link_latency_ns = 0;
  host.link_bytes_per_us = 0;
  const CostModel model({gpu, gpu, host});
  EXPECT_EQ(model.copy_ns(5000, 0, 2), 1000 + 5000);
  EXPECT_EQ(model.copy_ns(5000, 2, 0), 1000 + 5000);
  EXPECT_EQ(model.copy_ns(5000, 0, 1), 2 * (1000 + 5000));
  EXPECT_GT(model.copy_ns(UINT64_MAX, 0, 1), 0);
  const CostModel same = CostModel::communication(2);
  EXPECT_EQ(same.copy_ns(12'000, 0, 1), 10'000 + 1000);
  EXPECT_EQ(same.split_ns(1), 15'000);
}

TEST(Costs, ANodeTakesWhatItsWorkOrItsBytesTake) {
  DeviceCosts costs;
  costs.launch_ns = 7;
  costs.flops_per_us.fill(1000);
  costs.bytes_per_us = 1'000'000;
  const auto matmul = one_node(Op::kMATMUL, {{8, 16}, {16, 32}});
  EXPECT_EQ(CostModel({costs}).node_ns(*matmul, 0, 0), 7 + 2 * 8 * 16 * 32);
  costs.bytes_per_us = 1;
  EXPECT_EQ(CostModel({costs}).node_ns(*matmul, 0, 0), 7 + 1000 * 4 * (8 * 16 + 16 * 32 + 8 * 32));
  EXPECT_EQ(CostModel::communication(1).node_ns(*matmul, 0, 0), 0);
}

int64_t cost_of(const PlacementCase& placed_case, const PlacedCase& placed) {
  const CostModel model(placed_case.options.device_costs);
  int64_t ns = 0;
  for (const Split& split : placed.cut.splits) ns += model.split_ns(split.device);
  for (const PlannedCopy& copy : placed.cut.copies) ns += model.copy_ns(copy.bytes(), copy.from, copy.to);
  for (NodeId node = 0; node < placed_case.graph->node_count(); ++node)
    ns += model.node_ns(*placed_case.graph, node, placed.placement.placements[node].device);
  return ns;
}

TEST(Costs, ModeCostLeavesGreedyOnlyForATwentieth) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    PlacementCase random = make_random_case({.seed = seed, .node_count = 80, .device_count = 3});
    random.options.device_costs = {default_costs(BP_DEVICE_GPU), default_costs(BP_DEVICE_IGPU),
                                   default_costs(BP_DEVICE_CPU)};
    random.options.device_costs[0].launch_ns = 1'000 * static_cast<int64_t>(seed);
    CasePlacer placer(random);
    const PlacedCase greedy = placer.place(PlacementMode::greedy), best = placer.place(PlacementMode::cost);
    const int64_t before = cost_of(random, greedy), after = cost_of(random, best);
    if (best.placement.order == greedy.placement.order && after == before) continue;
    ++better;
    ASSERT_LE(after, before - before / 20) << seed;
  }
  EXPECT_GT(better, 10);
}

// All that is free is light and slow where its neighbours are.
TEST(Costs, NodesGoWhereTheyAreFast) {
  PlacementCase random = make_random_case({.seed = 3, .node_count = 100, .device_count = 2, .fixed_percent = 5});
  DeviceCosts slow, fast;
  slow.launch_ns = 10'000'000;
  fast.launch_ns = 100;
  random.options.device_costs = {slow, fast};
  CasePlacer placer(random);
  const PlacementResult best = placer.place_only(PlacementMode::cost);
  int moved = 0;
  for (NodeId node = 0; node < random.graph->node_count(); ++node) {
    const Placement& placement = best.placements[node];
    if (placement.cause != Cause::weight) {
      EXPECT_EQ(placement.device, 1u) << node;
    }
    if (placement.cause != Cause::cost) continue;
    ++moved;
    EXPECT_EQ(placement.runner_up, 0u);
    EXPECT_GT(placement.saved_ns, 9'000'000);
  }
  EXPECT_GT(moved, 10);
}

TEST(Costs, FiguresOfAllDevicesAreWanted) {
  PlacementCase random = make_random_case({.seed = 3, .node_count = 10, .device_count = 2});
  random.options.mode = PlacementMode::cost;
  random.options.device_costs = {DeviceCosts{}};
  const Capability capability = random.capability();
  const std::vector<uint32_t> located = random.located();
  const std::vector<Device*> devices(2, nullptr);
  EXPECT_EQ(place({*random.graph, capability, devices, random.options, located}).status().id(), "plan.device-costs");
}

}  // namespace
}  // namespace backplane
