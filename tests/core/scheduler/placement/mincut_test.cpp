#include "scheduler/placement/mincut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "graph_families.hpp"
#include "scheduler/placement/greedy.hpp"

namespace backplane {
namespace {

using testing::CasePlacer;
using testing::make_random_case;

std::vector<uint32_t> devices_of(const std::vector<Placement>& placements) {
  std::vector<uint32_t> devices(placements.size());
  std::ranges::transform(placements, devices.begin(), &Placement::device);
  return devices;
}

// Greedy's placement of a case, and what the cuts make of it.
struct Solved {
  Solved(const testing::PlacementCase& random, const Capability& capability_in, const CostModel& costs_in)
      : capability(capability_in),
        costs(costs_in),
        located(random.located()),
        devices_(random.device_count, nullptr),
        input{*random.graph, capability, devices_, random.options, located},
        greedy(place_greedy(input).value()),
        choices(input, greedy, costs.nodes_cost()),
        communication(input, costs),
        devices(devices_of(greedy)) {
    improve_by_cuts(communication, choices, devices, work);
  }

  int64_t cost(const std::vector<uint32_t>& placed) {
    int64_t sum = 0;
    for (StorageId storage = 0; storage < input.graph.storage_count(); ++storage)
      sum += communication.storage_ns(storage, placed);
    for (NodeId node = 0; node < placed.size(); ++node) sum += costs.node_ns(input.graph, node, placed[node]);
    return sum;
  }

  const Capability& capability;
  const CostModel& costs;
  std::vector<uint32_t> located;
  std::vector<Device*> devices_;
  PlacementInput input;
  std::vector<Placement> greedy;
  Choices choices;
  Communication communication;
  std::vector<uint32_t> devices;
  int64_t work = 100'000'000;
};

// The least cost of all placements that the choices allow, by trying all.
int64_t least_cost(Solved& solved) {
  std::vector<NodeId> free;
  for (NodeId node = 0; node < solved.devices.size(); ++node)
    if (solved.choices.allows(node, 0) && solved.choices.allows(node, 1) && solved.choices.is_free(node))
      free.push_back(node);
  std::vector<uint32_t> devices = devices_of(solved.greedy);
  int64_t least = INT64_MAX;
  for (uint32_t choice = 0; choice < 1u << free.size(); ++choice) {
    for (size_t i = 0; i < free.size(); ++i) devices[free[i]] = choice >> i & 1;
    least = std::min(least, solved.cost(devices));
  }
  return least;
}

uint32_t choice_count(const Solved& solved) {
  uint32_t count = 0;
  for (NodeId node = 0; node < solved.devices.size(); ++node)
    count += solved.choices.is_free(node) && solved.choices.allows(node, 0) && solved.choices.allows(node, 1);
  return count;
}

TEST(Mincut, IsOptimalForTwoDevices) {
  int solved_count = 0, improved = 0;
  const CostModel costs = CostModel::communication(2);
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const auto random = make_random_case({.seed = seed, .node_count = 18, .fixed_percent = 45});
    const Capability capability = random.capability();
    Solved solved(random, capability, costs);
    if (choice_count(solved) > 10) continue;
    ++solved_count;
    improved += solved.devices != devices_of(solved.greedy);
    ASSERT_EQ(solved.cost(solved.devices), least_cost(solved)) << seed;
  }
  EXPECT_GT(solved_count, 60);
  EXPECT_GT(improved, 20);
}

// Where one device reads the other's memory, copies cost something in one direction only.
TEST(Mincut, IsOptimalWhereOneDeviceReadsTheOther) {
  using Access = Capability::Access;
  const CostModel costs = CostModel::communication(2);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto random = make_random_case({.seed = seed, .node_count = 14, .fixed_percent = 45});
    std::vector<NodeAnswers> answers(2, NodeAnswers(random.graph->node_count(), BP_VERDICT_YES));
    const Capability capability(answers, {{Access::write, Access::read}, {Access::none, Access::write}});
    Solved solved(random, capability, costs);
    if (choice_count(solved) > 10) continue;
    ASSERT_EQ(solved.cost(solved.devices), least_cost(solved)) << seed;
  }
}

TEST(Mincut, IsOptimalWhereNodesCostSomethingToo) {
  DeviceCosts fast = default_costs(BP_DEVICE_GPU), slow = default_costs(BP_DEVICE_CPU);
  slow.bytes_per_us = 200;
  const CostModel costs({fast, slow});
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto random = make_random_case({.seed = seed, .node_count = 14, .fixed_percent = 45});
    const Capability capability = random.capability();
    Solved solved(random, capability, costs);
    if (choice_count(solved) > 10) continue;
    ASSERT_EQ(solved.cost(solved.devices), least_cost(solved)) << seed;
  }
}

TEST(Mincut, CountsWhatTheSplitterCopies) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const auto random = make_random_case({.seed = seed, .node_count = 60, .device_count = 3, .size_count = 1});
    const Capability capability = random.capability();
    const CostModel costs = CostModel::communication(3);
    Solved solved(random, capability, costs);
    std::vector<NodeId> order(random.graph->node_count());
    std::iota(order.begin(), order.end(), 0u);
    const SplitResult cut =
        split_graph({*random.graph, capability, random.options, solved.located, solved.greedy, order});
    int64_t sum = 0;
    for (const PlannedCopy& copy : cut.copies) sum += costs.copy_ns(copy.bytes(), copy.from, copy.to);
    ASSERT_EQ(solved.cost(devices_of(solved.greedy)), sum) << seed;
  }
}

TEST(Mincut, NeverCostsMoreOnManyDevicesAndHeavyNodesOnlyMoveUp) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto random = make_random_case({.seed = seed, .node_count = 200, .device_count = 5});
    const Capability capability = random.capability();
    const CostModel costs = CostModel::communication(5);
    Solved solved(random, capability, costs);
    const std::vector<uint32_t> before = devices_of(solved.greedy);
    ASSERT_LE(solved.cost(solved.devices), solved.cost(before)) << seed;
    for (NodeId node = 0; node < before.size(); ++node) {
      ASSERT_TRUE(capability.runs(node, solved.devices[node]));
      if (!solved.choices.is_free(node)) {
        ASSERT_EQ(solved.devices[node], before[node]);
      }
      if (is_heavy(*random.graph, node)) {
        ASSERT_LE(solved.devices[node], before[node]);
      }
    }
  }
}

// More free nodes than one cut takes in.
TEST(Mincut, LargeGraphsAreImprovedPartByPart) {
  const auto random = make_random_case({.seed = 1, .node_count = 9000, .device_count = 3, .fixed_percent = 5});
  const Capability capability = random.capability();
  const CostModel costs = CostModel::communication(3);
  Solved solved(random, capability, costs);
  EXPECT_LT(solved.cost(solved.devices), solved.cost(devices_of(solved.greedy)) / 2);
}

TEST(Mincut, KeepsWhatItHasWhenTheWorkIsUsedUp) {
  const auto random = make_random_case({.seed = 5, .node_count = 300, .device_count = 3});
  const Capability capability = random.capability();
  const CostModel costs = CostModel::communication(3);
  Solved solved(random, capability, costs);
  const int64_t all = 100'000'000 - solved.work;
  int64_t last = INT64_MAX;
  for (int64_t share = 0; share <= 4; ++share) {
    std::vector<uint32_t> devices = devices_of(solved.greedy);
    int64_t work = all * share / 4 + 1;
    improve_by_cuts(solved.communication, solved.choices, devices, work);
    ASSERT_LE(solved.cost(devices), last);
    last = solved.cost(devices);
  }
  EXPECT_EQ(last, solved.cost(solved.devices));
}

}  // namespace
}  // namespace backplane
