// The task graph: the splits and copies of a plan as tasks, and which must be done before which.
//
// Tasks of one device run in their order; everything else that must be ordered -- a read after a write, a write after
// a read or a write of the same instance of a storage -- is an explicit wait. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/scheduler/plan.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {

// What every task is known to come after: by device, the number of that device's tasks that are done before it ends.
class TaskClocks {
 public:
  TaskClocks(uint32_t tasks, uint32_t devices) : devices_(devices), done_(size_t{tasks} * devices, 0) {}
  uint32_t& done(uint32_t task, uint32_t device) { return done_[size_t{task} * devices_ + device]; }
  uint32_t done(uint32_t task, uint32_t device) const { return done_[size_t{task} * devices_ + device]; }
  uint32_t devices() const { return devices_; }

 private:
  uint32_t devices_;
  std::vector<uint32_t> done_;
};

struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<uint32_t> waits;
  bool sequential = true;   // as Plan::sequential
  TaskClocks clocks{0, 0};  // empty if sequential
};

TaskGraph make_task_graph(const SplitInput& input, const SplitResult& cut);

}  // namespace backplane
