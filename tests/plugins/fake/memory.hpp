// The memory of one fake device: accounting against a limit, and blocks that are poisoned until written and again when
// freed, so that a read of the wrong bytes never looks right by chance. Thread safety: any thread.
#pragma once

#include <mutex>

#include "backplane/sdk/plugin.hpp"

namespace fake {

inline constexpr uint8_t kPoisonUnwritten = 0xA5;
inline constexpr uint8_t kPoisonFreed = 0xDD;

class Memory {
 public:
  Memory(uint64_t limit_bytes, uint64_t alignment, bool poison)
      : limit_(limit_bytes), alignment_(alignment), poison_(poison) {}

  // Returns a block, null for 0 bytes. Throws BP_E_DEVICE_MEMORY beyond the limit.
  std::byte* allocate(uint64_t bytes);
  void release(std::byte* block, uint64_t bytes) noexcept;
  bp_memory_stats stats() const;
  uint64_t alignment() const { return alignment_; }

 private:
  const uint64_t limit_, alignment_;
  const bool poison_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0, peak_ = 0;
};

}  // namespace fake
