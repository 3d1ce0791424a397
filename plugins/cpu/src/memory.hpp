// Memory: what a device allocates from, and how much of it is in use. Devices differ in it, and in little else.
//
// Ownership: outlives its blocks. Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace backplane_cpu {

struct MemoryFigures {
  uint64_t total_bytes = 0;  // 0 = unknown
  uint64_t free_bytes = 0;   // at most total_bytes
};

class Memory {
 public:
  // `limit_bytes`: at most that much is allocated at a time; 0 = no limit.
  explicit Memory(uint64_t limit_bytes = 0) : limit_(limit_bytes == 0 ? UINT64_MAX : limit_bytes) {}
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Bytes at a multiple of `alignment`, a power of two of at least 8; contents undefined; null for 0 bytes. Throws
  // BP_E_DEVICE_MEMORY.
  std::byte* allocate(uint64_t bytes, uint64_t alignment);
  // Takes back a block; the numbers are those it was asked for with.
  void release(std::byte* block, uint64_t bytes, uint64_t alignment) noexcept;

  uint64_t used_bytes() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }
  // Of the whole memory, whoever uses it.
  virtual MemoryFigures whole_figures() const = 0;
  // The same, within the limit.
  MemoryFigures figures() const;

 private:
  // `bytes` is not 0. Throws BP_E_DEVICE_MEMORY.
  virtual std::byte* take(uint64_t bytes, uint64_t alignment) = 0;
  virtual void give_back(std::byte* block, uint64_t alignment) noexcept = 0;
  void reserve(uint64_t bytes);

  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> peak_{0};
};

}  // namespace backplane_cpu
