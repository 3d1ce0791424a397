// Separate blocks: for debugging, a buffer of its own for each block, with red zones before and behind it.
// Thread safety: a pure function.
#pragma once

#include <span>

#include "scheduler/memory/memory_planner.hpp"

namespace backplane {

// Bytes before each block, and behind what it has when rounded up, in memory of an alignment.
constexpr uint64_t red_zone_bytes(uint64_t alignment) { return alignment < 64 ? 64 : alignment; }

// As plan_memory: one chunk for each block. Errors: as plan_memory, for what a block takes with its red zones.
Result<MemoryPlan> separate_blocks(std::span<const MemoryBlock> blocks, const MemoryLimits& limits);

}  // namespace backplane
