#include "memory.hpp"

#include <algorithm>
#include <cstring>

namespace fake {

using backplane::sdk::Error;

std::byte* Memory::allocate(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (limit_ != 0 && bytes > limit_ - used_)
    throw Error(BP_E_DEVICE_MEMORY, "wanted " + std::to_string(bytes) + " bytes, " + std::to_string(limit_ - used_) +
                                        " of " + std::to_string(limit_) + " are free");
  auto* block = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment_), std::nothrow));
  if (block == nullptr) throw Error(BP_E_DEVICE_MEMORY, "no block of " + std::to_string(bytes) + " bytes could be had");
  if (poison_) std::memset(block, kPoisonUnwritten, bytes);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return block;
}

void Memory::release(std::byte* block, uint64_t bytes) noexcept {
  if (block == nullptr) return;
  if (poison_) std::memset(block, kPoisonFreed, bytes);
  // The poison must reach memory although nobody may read it: keep the compiler from dropping the store.
  __asm__ volatile("" : : "r"(block) : "memory");
  ::operator delete(block, std::align_val_t(alignment_));
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

bp_memory_stats Memory::stats() const {
  const std::lock_guard lock(mutex_);
  bp_memory_stats stats{};
  stats.valid = BP_STATS_USED | BP_STATS_PEAK;
  stats.used = used_;
  stats.peak = peak_;
  if (limit_ == 0) return stats;
  stats.valid |= BP_STATS_TOTAL | BP_STATS_FREE | BP_STATS_LARGEST_FREE;
  stats.total = limit_;
  stats.free = stats.largest_free = limit_ - used_;
  return stats;
}

}  // namespace fake
