// The memory planner: offsets for blocks that live for an interval of time, so that blocks alive together are disjoint.
//
// Several methods take turns, the cheap ones first, until the peak is the most that is alive at once, which no plan can
// be below, or the work is spent: best fit in the order of events; first fit by contention, area, size, classes of size
// and length; the large blocks first on their own; repair of the best of these orders. If the device is too small for
// the result, branch and bound looks for one that fits. Pure and deterministic: work is counted in comparisons, never
// in time, and more of it never gives a larger peak. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
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
  uint64_t alignment = 64;               // of every offset; a power of two
  uint64_t max_chunk_bytes = 0;          // the largest buffer of the device; 0 = no limit
  uint64_t capacity_bytes = 0;           // of the device; a plan that is larger is worth a long search; 0 = unknown
  uint64_t comparisons_per_block = 600;  // about 1 us for each block where no method reaches the bound at once
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
  std::string_view method;            // the one that found it: "event order", "contention", ...; static
  uint64_t comparisons = 0;           // made by all methods
};

// Errors: resource_exhausted if a block is larger than max_chunk_bytes (the message gives its index, the id is
// "memory.block-too-large"); invalid_argument for a block that ends before it begins, and if sizes overflow: all
// blocks together have at most 2^62 bytes.
Result<MemoryPlan> plan_memory(std::span<const MemoryBlock> blocks, const MemoryLimits& limits);

}  // namespace backplane
