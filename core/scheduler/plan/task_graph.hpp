// The task graph: the splits and copies of a plan as tasks, and which must be done before which.
//
// Tasks of one lane run in their order; everything else that must be ordered -- a read after a write, a write after
// a read or a write of the same instance of a storage -- is an explicit wait. Copies that go on beside the splits of
// their device are at most one split ahead, which bounds the memory that they take. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/scheduler/plan.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {

// What every task is known to come after: by lane, the number of that lane's tasks that are done before it ends.
class TaskClocks {
 public:
  TaskClocks(uint32_t tasks, uint32_t lanes) : lanes_(lanes), done_(size_t{tasks} * lanes, 0) {}
  uint32_t& done(uint32_t task, uint32_t lane) { return done_[size_t{task} * lanes_ + lane]; }
  uint32_t done(uint32_t task, uint32_t lane) const { return done_[size_t{task} * lanes_ + lane]; }

 private:
  uint32_t lanes_;
  std::vector<uint32_t> done_;
};

struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<uint32_t> waits;
  bool sequential = true;   // as Plan::sequential
  TaskClocks clocks{0, 0};  // empty if sequential
  uint32_t lane_count = 0;  // as many as devices, or twice that if any has a lane for copies
};

TaskGraph make_task_graph(const SplitInput& input, const SplitResult& cut);

}  // namespace backplane
