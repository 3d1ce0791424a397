#include "scheduler/placement/reorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

constexpr std::array<int64_t, 1> kShape = {64};

// Nodes over inputs and states, each on one of a few devices.
struct Random {
  explicit Random(uint64_t seed, uint32_t nodes = 60, uint32_t device_count = 3) {
    std::mt19937_64 rng(seed);
    GraphBuilder builder;
    std::vector<TensorId> pool = {builder.input("x", DType::kI32, kShape).value()};
    std::vector<TensorId> states;
    for (int i = 0; i < 3; ++i) states.push_back(builder.state("s" + std::to_string(i), DType::kI32, kShape).value());
    const auto any = [&] {
      return rng() % 4 == 0 ? states[rng() % states.size()]
                            : pool[pool.size() - 1 - rng() % std::min<size_t>(pool.size(), 6)];
    };
    for (uint32_t i = 0; i < nodes; ++i) {
      if (rng() % 6 == 0) {
        const std::array value = {any()};
        EXPECT_TRUE(builder.node_into(states[rng() % states.size()], Op::kNEG, value).ok());
      } else {
        pool.push_back(builder.op(Op::kADD, {any(), any()}).value());
      }
    }
    for (size_t i = 1; i < pool.size(); ++i) EXPECT_TRUE(builder.output(pool[i], "y" + std::to_string(i)).ok());
    graph = builder.finish().value();
    for (NodeId node = 0; node < graph->node_count(); ++node)
      devices.push_back(static_cast<uint32_t>(rng() % device_count));
  }
  std::shared_ptr<const Graph> graph;
  std::vector<uint32_t> devices;
};

// What a run leaves in each storage and what each node reads, as numbers: equal for equal order of conflicting
// accesses.
std::vector<uint64_t> trace(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<uint64_t> contents(graph.storage_count(), 1);
  std::vector<uint64_t> seen(graph.node_count());
  for (const NodeId node : order) {
    uint64_t hash = node + 1;
    for (const TensorId input : graph.node_inputs(node))
      hash = hash * 0x9E3779B97F4A7C15u + contents[graph.storage_of(input)];
    seen[node] = hash;
    for (const TensorId output : graph.node_outputs(node)) contents[graph.storage_of(output)] = hash;
  }
  seen.insert(seen.end(), contents.begin(), contents.end());
  return seen;
}

std::vector<NodeId> list_order(const Graph& graph) {
  std::vector<NodeId> order(graph.node_count());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

TEST(Reorder, KeepsTheOrderOfConflictingAccesses) {
  int changed = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Random random(seed);
    const std::vector<NodeId> list = list_order(*random.graph);
    const std::vector<NodeId> order = reorder(*random.graph, Dependencies(*random.graph), random.devices, 3, 8);
    std::vector<NodeId> sorted = order;
    std::ranges::sort(sorted);
    ASSERT_EQ(sorted, list);
    ASSERT_EQ(trace(*random.graph, order), trace(*random.graph, list)) << seed;
    ASSERT_LE(count_runs(order, random.devices), count_runs(list, random.devices));
    ASSERT_LE(peak_bytes(*random.graph, order) * 20, peak_bytes(*random.graph, list) * 21);
    changed += order != list;
  }
  EXPECT_GT(changed, 100);
}

// Two towers that take turns: a run each, whichever is joined to the other at the end.
TEST(Reorder, SeparatesTowers) {
  for (const bool join_on_second : {false, true}) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, kShape).value();
    TensorId a = x, b = x;
    std::vector<uint32_t> devices;
    for (int i = 0; i < 100; ++i) {
      a = builder.op(Op::kNEG, {a}).value();
      b = builder.op(Op::kABS, {b}).value();
      devices.insert(devices.end(), {0, 1});
    }
    ASSERT_TRUE(builder.output(builder.op(Op::kADD, {a, b}).value(), "y").ok());
    devices.push_back(join_on_second);
    const auto graph = builder.finish().value();
    const Dependencies dependencies(*graph);
    EXPECT_EQ(count_runs(reorder(*graph, dependencies, devices, 2, 64), devices), 2u);
    EXPECT_EQ(reorder(*graph, dependencies, devices, 2, 0), list_order(*graph));
  }
}

// Many results that one device would make at once and the other would take one by one.
TEST(Reorder, DoesNotBuyRunsWithMemory) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  TensorId sum = x;
  std::vector<uint32_t> devices;
  for (int i = 0; i < 200; ++i) {
    const TensorId part = builder.op(Op::kNEG, {x}).value();
    sum = builder.op(Op::kADD, {sum, part}).value();
    devices.insert(devices.end(), {0, 1});
  }
  ASSERT_TRUE(builder.output(sum, "y").ok());
  const auto graph = builder.finish().value();
  const std::vector<NodeId> list = list_order(*graph);
  const std::vector<NodeId> order = reorder(*graph, Dependencies(*graph), devices, 2, 64);
  EXPECT_LE(peak_bytes(*graph, order) * 20, peak_bytes(*graph, list) * 21);
}

TEST(Reorder, CountsThePeakOfLiveBytes) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kShape).value();
  const TensorId a = builder.op(Op::kNEG, {x}).value();
  const TensorId b = builder.op(Op::kNEG, {a}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {a, b}).value(), "y").ok());
  const auto graph = builder.finish().value();
  EXPECT_EQ(peak_bytes(*graph, list_order(*graph)), 3u * 256);
}

TEST(Reorder, NothingIsLegal) {
  const std::vector<uint32_t> none;
  GraphBuilder builder;
  ASSERT_TRUE(builder.output(builder.input("x", DType::kI32, kShape).value(), "y").ok());
  const auto graph = builder.finish().value();
  EXPECT_TRUE(reorder(*graph, Dependencies(*graph), none, 2, 64).empty());
}

}  // namespace
}  // namespace backplane
