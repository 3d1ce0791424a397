#include "scheduler/placement/flow_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace backplane {
namespace {

struct Arc {
  uint32_t from, to;
  int64_t forward, backward;
};

// A random problem of a few nodes, and what each way to divide them costs.
struct Problem {
  uint32_t nodes;
  std::vector<Arc> arcs;
  std::vector<std::array<int64_t, 2>> costs;  // by node: on the source's side, on the sink's

  explicit Problem(uint64_t seed) {
    std::mt19937_64 rng(seed);
    nodes = 1 + static_cast<uint32_t>(rng() % 9);
    for (uint32_t node = 0; node < nodes; ++node)
      costs.push_back({static_cast<int64_t>(rng() % 3 == 0 ? rng() % 20 : 0),
                       static_cast<int64_t>(rng() % 3 == 0 ? rng() % 20 : 0)});
    for (uint64_t i = rng() % 20; i > 0 && nodes > 1; --i) {
      const auto from = static_cast<uint32_t>(rng() % nodes), to = static_cast<uint32_t>(rng() % nodes);
      if (from == to) continue;
      const int64_t forward = rng() % 5 == 0 ? int64_t{1} << 40 : static_cast<int64_t>(rng() % 10);
      arcs.push_back({from, to, forward, static_cast<int64_t>(rng() % 10)});
    }
  }

  // Bit n of `sinks`: node n is on the sink's side.
  int64_t cost(uint32_t sinks) const {
    int64_t sum = 0;
    for (uint32_t node = 0; node < nodes; ++node) sum += costs[node][sinks >> node & 1];
    for (const Arc& arc : arcs) {
      const bool from = sinks >> arc.from & 1, to = sinks >> arc.to & 1;
      sum += !from && to ? arc.forward : from && !to ? arc.backward : 0;
    }
    return sum;
  }

  FlowNetwork network() const {
    FlowNetwork network;
    for (uint32_t node = 0; node < nodes; ++node) network.add_node();
    for (uint32_t node = 0; node < nodes; ++node) network.add_cost(node, costs[node][0], costs[node][1]);
    for (const Arc& arc : arcs) network.add_arc(arc.from, arc.to, arc.forward, arc.backward);
    return network;
  }
};

TEST(FlowNetwork, FindsTheCheapestSides) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem(seed);
    FlowNetwork network = problem.network();
    int64_t work = 1'000'000;
    ASSERT_TRUE(network.minimise(work));
    uint32_t found = 0;
    for (uint32_t node = 0; node < problem.nodes; ++node) found |= uint32_t{network.on_sink_side(node)} << node;
    int64_t best = INT64_MAX;
    int fewest = 0;
    for (uint32_t sinks = 0; sinks < 1u << problem.nodes; ++sinks)
      if (const int64_t cost = problem.cost(sinks); cost < best)
        best = cost, fewest = __builtin_popcount(sinks);
      else if (cost == best)
        fewest = std::min(fewest, __builtin_popcount(sinks));
    ASSERT_EQ(problem.cost(found), best) << seed;
    ASSERT_EQ(__builtin_popcount(found), fewest) << seed;
  }
}

TEST(FlowNetwork, StopsWhenTheWorkIsUsedUp) {
  FlowNetwork network;
  uint32_t last = network.add_node();
  network.add_cost(last, 0, 100);
  for (int i = 0; i < 100; ++i) {
    const uint32_t next = network.add_node();
    network.add_arc(last, next, 5, 5);
    last = next;
  }
  network.add_cost(last, 100, 0);
  int64_t little = 50;
  EXPECT_FALSE(FlowNetwork(network).minimise(little));
  int64_t much = 100'000;
  EXPECT_TRUE(network.minimise(much));
  EXPECT_LT(much, 100'000);
}

TEST(FlowNetwork, CanBeUsedAgain) {
  FlowNetwork network = Problem(3).network();
  int64_t work = 1000;
  network.clear();
  EXPECT_EQ(network.node_count(), 0u);
  const uint32_t node = network.add_node();
  network.add_cost(node, 7, 3);
  ASSERT_TRUE(network.minimise(work));
  EXPECT_TRUE(network.on_sink_side(node));
}

}  // namespace
}  // namespace backplane
