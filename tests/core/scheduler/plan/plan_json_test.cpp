#include <gtest/gtest.h>

#include "fake_runtime.hpp"
#include "random_graph.hpp"
#include "backplane/base/json.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

uint64_t whole(const Json& object, const char* key) { return static_cast<uint64_t>(object.find(key)->as_integer()); }

TEST(PlanJson, HoldsTheWholePlan) {
  FakeRuntime runtime(R"({"devices": 3, "supports": "alternate"})");
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const auto plan = make_plan(testing::make_random_graph(seed, 40).graph, runtime.devices()).value();
    const Json json = plan->to_json();
    EXPECT_EQ(json.find("nodes")->items().size(), plan->graph->node_count());
    EXPECT_EQ(json.find("order")->items().size(), plan->order.size());
    EXPECT_EQ(json.find("tasks")->items().size(), plan->tasks.size());
    EXPECT_EQ(json.find("residences")->items().size(), plan->residences.size());
    EXPECT_EQ(json.find("pools")->items().size(), plan->pools.size());
    size_t waits = 0, nodes = 0;
    uint64_t copied = 0, peak = 0;
    for (const Json& task : json.find("tasks")->items()) waits += task.find("waits")->items().size();
    EXPECT_EQ(waits, plan->waits.size());
    for (const Json& split : json.find("splits")->items()) {
      EXPECT_EQ(whole(split, "first_node"), nodes) << "splits are consecutive";
      EXPECT_EQ(split.find("nodes")->items().size(), whole(split, "node_count"));
      nodes += whole(split, "node_count");
    }
    EXPECT_EQ(nodes, plan->graph->node_count());
    for (const Json& copy : json.find("copies")->items()) {
      copied += whole(copy, "bytes");
      EXPECT_EQ(whole(copy, "bytes"), whole(copy, "row_bytes") * whole(copy, "rows"));
    }
    EXPECT_EQ(copied, plan->copy_bytes);
    for (const Json& pool : json.find("pools")->items())
      for (const Json& chunk : pool.find("chunk_bytes")->items()) peak += static_cast<uint64_t>(chunk.as_integer());
    for (const Pool& pool : plan->pools) peak -= pool.peak_bytes;
    EXPECT_EQ(peak, 0u);
  }
}

TEST(PlanJson, SaysWhyOfEveryNode) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto plan = make_plan(testing::make_random_graph(3, 20).graph, runtime.devices()).value();
  const Json json = plan->to_json();
  for (NodeId node = 0; node < plan->graph->node_count(); ++node) {
    const Json& entry = json.find("nodes")->items()[node];
    EXPECT_EQ(entry.find("why")->as_text(), plan->explain(node));
    EXPECT_EQ(entry.find("cause")->as_text(), cause_name(plan->placements[node].cause));
    EXPECT_EQ(entry.find("runner_up")->is(Json::Kind::null), plan->placements[node].runner_up == kNone);
  }
}

TEST(PlanJson, EqualPlansGiveEqualBytes) {
  FakeRuntime runtime(R"({"devices": 3, "supports": "alternate"})"),
      again(R"({"devices": 3, "supports": "alternate"})");
  for (uint64_t seed = 1; seed <= 4; ++seed)
    EXPECT_EQ(make_plan(testing::make_random_graph(seed, 40).graph, runtime.devices()).value()->to_json().dump(),
              make_plan(testing::make_random_graph(seed, 40).graph, again.devices()).value()->to_json().dump());
}

}  // namespace
}  // namespace backplane
