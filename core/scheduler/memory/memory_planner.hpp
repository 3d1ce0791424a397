// The memory planner: offsets for blocks that live for an interval of time, so that blocks alive together are disjoint.
//
// Pure and deterministic: the budget is counted in comparisons, never in time. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"

namespace backplane {

// A block of memory, alive in the steps [first, last].
struct MemoryBlock {
  uint32_t first;
  uint32_t last;
  uint64_t bytes;  // 0 is legal
};

struct MemoryLimits {
  uint64_t alignment = 64;       // of every offset; a power of two
  uint64_t max_chunk_bytes = 0;  // the largest buffer of the device; 0 = no limit
};

struct MemoryPlan {
  struct Place {
    uint32_t chunk;
    uint64_t offset;
  };
  std::vector<Place> places;          // by block
  std::vector<uint64_t> chunk_bytes;  // at least one chunk
  uint64_t peak_bytes = 0;            // sum of the chunks
  uint64_t lower_bound_bytes = 0;     // most bytes alive at once, every size rounded up to the alignment
};

// Errors: resource_exhausted if a block is larger than max_chunk_bytes (the message gives its index, the id is
// "memory.block-too-large"); invalid_argument if sizes overflow.
Result<MemoryPlan> plan_memory(std::span<const MemoryBlock> blocks, const MemoryLimits& limits);

}  // namespace backplane
