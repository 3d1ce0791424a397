// The least peak of a few memory blocks, by trying everything. Thread safety: a pure function.
#pragma once

#include <span>

#include "scheduler/memory/memory_planner.hpp"

namespace backplane::testing {

// Of at most 8 blocks, without alignment. Some order of placing each block as low as it goes is optimal: that of the
// addresses of an optimal plan.
uint64_t optimal_peak(std::span<const MemoryBlock> blocks);

}  // namespace backplane::testing
