// HostBuffer: a block of a device's memory, or memory that the caller lent. Thread safety: as in abi/buffer.h.
#pragma once

#include <cstddef>

#include "backplane/sdk/plugin.hpp"
#include "src/memory.hpp"

namespace backplane_cpu {

class HostBuffer final : public backplane::sdk::Buffer {
 public:
  // Allocates. Throws BP_E_DEVICE_MEMORY. `memory` outlives the buffer.
  HostBuffer(uint64_t bytes, uint64_t alignment, Memory& memory);
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
  Memory* memory_ = nullptr;  // null = borrowed
  uint64_t alignment_ = 0;    // of allocated memory
  bp_release_fn release_ = nullptr;
  void* release_user_ = nullptr;
};

}  // namespace backplane_cpu
