// In-place reuse: which results take over the memory of an operand that is not used any more.
//
// A device says for each node which operands its kernels may overwrite; whether that is right here follows from the
// lives of the storages, after placement and splitting. Whatever is taken over may be taken over again: such a chain is
// one block of memory. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/memory/lifetimes.hpp"
#include "scheduler/plan/splitter.hpp"
#include "scheduler/plan/task_graph.hpp"

namespace backplane {

// An instance that takes over the memory of another, which looks the same.
struct InPlace {
  uint32_t result, operand;
};

// In the order of execution, so that what a chain begins with comes first. Only instances of `eligible` take part:
// those in arenas, with memory of their own.
//
// A node's result takes over an operand if
// 1. the device says so for that operand, and for all others that share its storage, which must look the same;
// 2. both are the whole of their storages, be it as views, with equal type, shape and strides;
// 3. both are in the memory of the device that runs the node;
// 4. nobody else has used the result before, and nobody uses the operand later: the lives say so, copies and other
//    devices included;
// 5. the node writes the operand in no other way, and its other results take nothing over.
// Of several operands the first is taken: they have equal sizes.
std::vector<InPlace> find_in_place(const SplitInput& input, const SplitResult& cut, const TaskGraph& tasks,
                                   const std::vector<Lifetime>& lives, const std::vector<bool>& eligible);

}  // namespace backplane
