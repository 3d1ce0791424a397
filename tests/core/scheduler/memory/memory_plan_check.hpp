// An independent check of memory plans. Thread safety: a pure function.
#pragma once

#include <span>
#include <string>

#include "scheduler/memory/memory_planner.hpp"

namespace backplane::testing {

// Sweeps over time with the taken ranges of all chunks. Returns what is wrong, or "": blocks alive together are
// disjoint, all are aligned and inside their chunks, and the figures agree with each other.
std::string check_memory_plan(std::span<const MemoryBlock> blocks, const MemoryLimits& limits, const MemoryPlan& plan);

}  // namespace backplane::testing
