// Every two accesses to the same bytes, of which one writes, are ordered by the tasks' waits.
#include <gtest/gtest.h>

#include <algorithm>

#include "backplane/scheduler/plan.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;
using testing::make_random_graph;

struct Access {
  uint32_t task;
  uint32_t position;  // within the run's order of nodes, to order accesses of one task
  bool write;
};

// happens_before[a] holds the tasks that end before a begins; found by walking all edges, as slowly as simply.
std::vector<std::vector<bool>> predecessors(const Plan& plan) {
  std::vector<std::vector<bool>> before(plan.tasks.size(), std::vector<bool>(plan.tasks.size(), false));
  for (uint32_t task = 0; task < plan.tasks.size(); ++task) {
    const auto add = [&](uint32_t other) {
      before[task][other] = true;
      for (uint32_t i = 0; i < plan.tasks.size(); ++i)
        if (before[other][i]) before[task][i] = true;
    };
    for (uint32_t other = 0; other < task; ++other)
      if (plan.tasks[other].lane == plan.tasks[task].lane) add(other);
    for (uint32_t i = 0; i < plan.tasks[task].wait_count; ++i) add(plan.waits[plan.tasks[task].first_wait + i]);
  }
  return before;
}

// By residence.
std::vector<std::vector<Access>> accesses(const Plan& plan) {
  std::vector<std::vector<Access>> all(plan.residences.size());
  const auto add = [&](StorageId storage, uint32_t device, Access access) {
    const Residence* place = plan.residence(storage, device);
    if (place != nullptr) all[static_cast<size_t>(place - plan.residences.data())].push_back(access);
  };
  for (uint32_t index = 0; index < plan.tasks.size(); ++index) {
    const Task& task = plan.tasks[index];
    if (task.is_copy) {
      for (const PlannedCopy& copy : plan.transfer(task)) {
        add(copy.storage, copy.from, {index, 0, false});
        add(copy.storage, copy.to, {index, 0, true});
      }
      continue;
    }
    const Split& split = plan.splits[task.index];
    for (uint32_t at = 0; at < split.node_count; ++at) {
      const NodeId node = plan.nodes(split)[at];
      for (const TensorId input : plan.graph->node_inputs(node))
        if (input != kNone) add(plan.graph->storage_of(input), split.device, {index, at, false});
      for (const TensorId output : plan.graph->node_outputs(node))
        if (output != kNone) add(plan.graph->storage_of(output), split.device, {index, at, true});
    }
  }
  return all;
}

bool share_bytes(const Plan& plan, const Residence& a, const Residence& b) {
  if (a.pool == kNone || a.pool != b.pool || a.chunk != b.chunk) return &a == &b;
  return a.offset < b.offset + plan.graph->storage(b.storage).bytes &&
         b.offset < a.offset + plan.graph->storage(a.storage).bytes;
}

void expect_ordered(const Plan& plan) {
  const auto before = predecessors(plan);
  const auto all = accesses(plan);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i; j < all.size(); ++j) {
      if (!share_bytes(plan, plan.residences[i], plan.residences[j])) continue;
      bool first_is_i = false, first_is_j = false;
      for (const Access& a : all[i])
        for (const Access& b : all[j]) {
          if (!a.write && !b.write) continue;
          if (a.task != b.task) {
            ASSERT_TRUE(before[a.task][b.task] || before[b.task][a.task])
                << "tasks " << a.task << " and " << b.task << " use the same bytes: storages "
                << plan.residences[i].storage << " and " << plan.residences[j].storage << " on device "
                << plan.residences[i].device;
          }
          first_is_i |= a.task == b.task ? a.position < b.position : before[b.task][a.task];
          first_is_j |= a.task == b.task ? b.position < a.position : before[a.task][b.task];
        }
      ASSERT_FALSE(i != j && first_is_i && first_is_j)
          << "storages " << plan.residences[i].storage << " and " << plan.residences[j].storage << " take turns";
    }
}

TEST(TaskOrder, AccessesToTheSameBytesAreOrdered) {
  for (const char* world : {R"({"devices": 2, "supports": "alternate"})", R"({"devices": 4, "supports": "alternate"})",
                            R"({"devices": 3, "supports": "alternate", "memory": "host"})"}) {
    FakeRuntime runtime(world);
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(seed);
      const auto random = make_random_graph(seed, 30);
      expect_ordered(*make_plan(random.graph, runtime.devices()).value());
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace backplane
