#include "scheduler/memory/separate_blocks.hpp"

#include "backplane/base/text.hpp"

namespace backplane {

Result<MemoryPlan> separate_blocks(std::span<const MemoryBlock> blocks, const MemoryLimits& limits) {
  MemoryPlan plan;
  const uint64_t zone = red_zone_bytes(limits.alignment);
  for (const MemoryBlock& block : blocks) {
    uint64_t bytes = 0;
    if (__builtin_add_overflow(block.bytes, 2 * zone + limits.alignment - 1, &bytes) ||
        __builtin_add_overflow(plan.peak_bytes, bytes, &plan.peak_bytes))
      return invalid_argument("the memory blocks of one pool add up to more than 2^64 bytes");
    bytes &= ~(limits.alignment - 1);
    if (limits.max_chunk_bytes != 0 && bytes > limits.max_chunk_bytes)
      return resource_exhausted(
          cat("block ", plan.places.size(), " wants ", bytes, " bytes with its red zones, and the largest buffer is ",
              limits.max_chunk_bytes, " bytes"),
          "memory.block-too-large");
    plan.places.push_back({static_cast<uint32_t>(plan.chunk_bytes.size()), zone});
    plan.chunk_bytes.push_back(bytes);
  }
  plan.peak_bytes = 0;
  for (const uint64_t bytes : plan.chunk_bytes) plan.peak_bytes += bytes;
  plan.lower_bound_bytes = plan.peak_bytes;
  plan.method = "apart";
  return plan;
}

}  // namespace backplane
