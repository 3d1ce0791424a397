#include "src/memory.hpp"

#include <algorithm>
#include <string>

#include "backplane/sdk/error.hpp"

namespace backplane_cpu {

std::byte* Memory::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes == 0) return nullptr;
  reserve(bytes);
  std::byte* block = nullptr;
  try {
    block = take(bytes, alignment);
  } catch (...) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    throw;
  }
  const uint64_t now = used_bytes();
  uint64_t highest = peak_bytes();
  while (now > highest && !peak_.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
  return block;
}

MemoryFigures Memory::figures() const {
  const MemoryFigures whole = whole_figures();
  return {std::min(whole.total_bytes, limit_), std::min(whole.free_bytes, limit_ - std::min(limit_, used_bytes()))};
}

// First, so that two threads together cannot exceed the limit.
void Memory::reserve(uint64_t bytes) {
  uint64_t used = used_bytes();
  do {
    if (bytes > limit_ || used > limit_ - bytes)
      throw backplane::sdk::Error(BP_E_DEVICE_MEMORY, "wanted " + std::to_string(bytes) + " bytes of memory; " +
                                                          std::to_string(used) + " are in use, and the limit is " +
                                                          std::to_string(limit_));
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

void Memory::release(std::byte* block, uint64_t bytes, uint64_t alignment) noexcept {
  if (block == nullptr) return;
  give_back(block, alignment);
  used_.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace backplane_cpu
