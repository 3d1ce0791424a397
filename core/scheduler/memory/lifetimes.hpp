// Lifetimes: for how long every instance of a storage must keep its memory. Time is counted in ticks: one for each copy
// and each node, in the order of the tasks.
//
// Where devices run at the same time, that order is not enough: memory may be given to a new owner only by a
// task that comes after every use of the old one. Such lives are made longer, up to the first task that does.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/plan/splitter.hpp"
#include "scheduler/plan/task_graph.hpp"

namespace backplane {

struct Lifetime {
  uint32_t first = kNone;  // kNone = never used
  uint32_t last = 0;
  bool lengthened = false;  // its owner's last use may not be the last one: others may still be at it
};

// By instance; ends are at most the number of nodes and copies. Those of constants are never used in this sense.
std::vector<Lifetime> find_lifetimes(const SplitInput& input, const SplitResult& cut, const TaskGraph& graph);

}  // namespace backplane
