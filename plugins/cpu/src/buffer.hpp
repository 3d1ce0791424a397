// HostBuffer: a block of host memory, allocated here or lent by the caller. Thread safety: as in abi/buffer.h.
#pragma once

#include <atomic>
#include <cstddef>

#include "backplane/sdk/plugin.hpp"

namespace backplane_cpu {

inline constexpr uint64_t kBufferAlignment = 64;  // of allocated memory
inline constexpr uint64_t kImportAlignment = 8;   // of lent memory: that of the widest element

// Bytes that a device has allocated, now and at most.
struct MemoryUse {
  std::atomic<uint64_t> used{0};
  std::atomic<uint64_t> peak{0};
  void add(uint64_t bytes);
  void remove(uint64_t bytes) { used.fetch_sub(bytes, std::memory_order_relaxed); }
};

class HostBuffer final : public backplane::sdk::Buffer {
 public:
  // Allocates. Throws BP_E_DEVICE_MEMORY. `use` outlives the buffer.
  HostBuffer(uint64_t bytes, MemoryUse& use);
  // Borrows memory until destruction, when `release` (may be null) is called.
  HostBuffer(void* memory, uint64_t bytes, bool writable, bp_release_fn release, void* release_user);
  ~HostBuffer() override;
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::byte* data() const { return data_; }  // null if size_bytes() is 0
  bool writable() const { return writable_; }

  uint64_t size_bytes() const override { return bytes_; }
  void* map(uint64_t offset, uint64_t bytes, uint32_t flags) override;
  void unmap() override {}
  void write(uint64_t offset, const void* source, uint64_t bytes) override;
  void read(uint64_t offset, void* target, uint64_t bytes) override;
  void fill(uint64_t offset, uint64_t bytes, uint8_t byte) override;
  // Throws BP_E_INVALID_ARG if the memory was lent for reading only.
  void require_writable() const;

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_;
  bool writable_ = true;
  MemoryUse* use_ = nullptr;  // null = borrowed
  bp_release_fn release_ = nullptr;
  void* release_user_ = nullptr;
};

}  // namespace backplane_cpu
