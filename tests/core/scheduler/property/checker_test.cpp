// The checkers of plans see what is broken: plans that are right are broken in one place, each in turn.
#include <gtest/gtest.h>

#include "fake_runtime.hpp"
#include "happens_before.hpp"
#include "memory_invariants.hpp"
#include "plan_invariants.hpp"
#include "random_graph.hpp"
#include "symbolic_run.hpp"

namespace backplane::testing {
namespace {

class Checkers : public ::testing::Test {
 protected:
  // Calls visit(plan) for plans with copies and waits; a plan is a copy that may be changed.
  template <class Visit>
  void for_each_plan(const Visit& visit) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      PlanOptions options;
      options.mode = PlacementMode::greedy;
      const auto plan = make_plan(make_random_graph(seed, 20).graph, runtime_.devices(), options);
      if (!plan.ok()) continue;
      ASSERT_EQ(faults(**plan), "") << "seed " << seed;
      visit(**plan);
    }
  }
  std::string faults(const Plan& plan) {
    std::string fault = check_plan_invariants(plan, runtime_.devices(), {});
    if (fault.empty()) fault = check_memory_invariants(plan, runtime_.devices());
    if (fault.empty()) fault = check_symbolic_run(plan);
    if (fault.empty()) fault = check_happens_before(plan);
    return fault;
  }

  FakeRuntime runtime_{R"({"devices": 3, "supports": "alternate"})"};
};

TEST_F(Checkers, SeeEachCopyThatCopiesNothing) {
  size_t copies = 0;
  for_each_plan([&](Plan plan) {
    for (PlannedCopy& copy : plan.copies) {
      if (copy.bytes() == 0) continue;
      ++copies;
      const uint64_t bytes = std::exchange(copy.row_bytes, 0);
      EXPECT_NE(check_symbolic_run(plan), "");
      copy.row_bytes = bytes;
    }
  });
  EXPECT_GT(copies, 100u);
}

// Few waits are covered by others.
TEST_F(Checkers, SeeWaitsThatAreMissing) {
  size_t waits = 0, seen = 0;
  for_each_plan([&](Plan plan) {
    for (Task& task : plan.tasks) {
      if (task.wait_count == 0) continue;
      ++waits;
      --task.wait_count;  // the last one
      seen += check_happens_before(plan).empty() ? 0 : 1;
      ++task.wait_count;
    }
  });
  EXPECT_GT(waits, 100u);
  EXPECT_GT(seen, waits * 9 / 10);
}

TEST_F(Checkers, SeeWaitsForTheRunBeforeThatAreMissing) {
  size_t waits = 0, seen = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    PlanOptions options;
    options.pipelined = true;
    const auto made = make_plan(make_random_graph(seed, 20).graph, runtime_.devices(), options);
    if (!made.ok()) continue;
    Plan plan = **made;
    EXPECT_EQ(check_happens_before(plan, 2), "") << "seed " << seed;
    for (Task& task : plan.tasks) waits += std::exchange(task.carried_count, 0) == 0 ? 0 : 1;
    seen += check_happens_before(plan, 2).empty() ? 0 : 1;
  }
  EXPECT_GT(waits, 100u);
  EXPECT_GT(seen, 10u);
}

TEST_F(Checkers, SeeTensorsThatShareMemory) {
  size_t plans = 0;
  for_each_plan([&](Plan plan) {
    size_t in_arena = 0;
    for (Residence& residence : plan.residences) {
      if (residence.pool == kNone || plan.graph->storage(residence.storage).bytes == 0) continue;
      if (plan.pools[residence.pool].kind != PoolKind::ports) continue;
      residence.offset = 0;
      ++in_arena;
    }
    if (in_arena < 6) return;  // some may be one to a device
    ++plans;
    EXPECT_NE(faults(plan), "");
  });
  EXPECT_GT(plans, 5u);
}

TEST_F(Checkers, SeeResultsOverOperandsThatMayNotBe) {
  size_t taken_over = 0;
  for_each_plan([&](Plan plan) {
    for (Residence& residence : plan.residences) {
      if (residence.pool == kNone || plan.pools[residence.pool].kind != PoolKind::arena ||
          plan.graph->storage(residence.storage).bytes == 0)
        continue;
      taken_over += residence.in_place_of == kNone ? 0 : 1;
      // Claimed of any storage but the right one, or not claimed where it is so.
      for (StorageId storage = 0; storage <= plan.graph->storage_count(); ++storage) {
        const StorageId claim = storage == plan.graph->storage_count() ? kNone : storage;
        if (claim == residence.in_place_of) continue;
        const StorageId before = std::exchange(residence.in_place_of, claim);
        EXPECT_NE(check_memory_invariants(plan, runtime_.devices()), "")
            << "s" << residence.storage << " over s" << claim;
        residence.in_place_of = before;
      }
    }
  });
  EXPECT_GT(taken_over, 10u);
}

TEST_F(Checkers, SeeNodesOnOtherDevicesOrInAnotherOrder) {
  for_each_plan([&](const Plan& plan) {
    for (size_t i = 0; i + 1 < plan.order.size(); ++i) {
      Plan swapped = plan;
      std::swap(swapped.order[i], swapped.order[i + 1]);
      const bool neighbours = plan.placements[plan.order[i]].device == plan.placements[plan.order[i + 1]].device;
      if (!neighbours) {
        EXPECT_NE(faults(swapped), "");
      }
    }
    Plan moved = plan;
    if (moved.placements.empty()) return;
    moved.placements[0].device = (moved.placements[0].device + 1) % 3;
    EXPECT_NE(faults(moved), "");
  });
}

}  // namespace
}  // namespace backplane::testing
