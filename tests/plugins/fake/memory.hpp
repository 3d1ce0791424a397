// The memory of one fake device: accounting against a limit, and buffers whose bytes are poisoned until written and
// again when freed, so that a read of the wrong bytes never looks right by chance.
// Thread safety: Memory is safe from any thread; a Buffer is not.
#pragma once

#include <mutex>

#include "backplane/sdk/plugin.hpp"
#include "options.hpp"

namespace fake {

inline constexpr uint8_t kPoisonUnwritten = 0xA5;
inline constexpr uint8_t kPoisonFreed = 0xDD;

class Memory {
 public:
  Memory(uint64_t limit_bytes, uint64_t alignment) : limit_(limit_bytes), alignment_(alignment) {}

  // Returns poisoned memory, null for 0 bytes. Throws BP_E_DEVICE_MEMORY beyond the limit.
  std::byte* allocate(uint64_t bytes);
  void release(std::byte* block, uint64_t bytes) noexcept;
  bp_memory_stats stats() const;
  uint64_t alignment() const { return alignment_; }

 private:
  const uint64_t limit_, alignment_;
  mutable std::mutex mutex_;
  uint64_t used_ = 0, peak_ = 0;
};

class Buffer final : public backplane::sdk::Buffer {
 public:
  // Allocates from, or imports into, `memory`; `owner` names the device. The descriptor was checked.
  Buffer(Memory& memory, const void* owner, bool host_visible, const bp_buffer_desc& desc);
  ~Buffer() override;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  uint64_t size_bytes() const override { return bytes_; }
  void* map(uint64_t offset, uint64_t bytes, uint32_t flags) override;
  void unmap() override;
  void write(uint64_t offset, const void* source, uint64_t bytes) override;
  void read(uint64_t offset, void* target, uint64_t bytes) override;
  void fill(uint64_t offset, uint64_t bytes, uint8_t byte) override;

  std::byte* data() const { return data_; }
  const void* owner() const { return owner_; }
  bool writable() const { return writable_; }

 private:
  void require_writable() const;

  Memory& memory_;
  const void* const owner_;
  const bool host_visible_;
  const uint64_t bytes_;
  std::byte* data_ = nullptr;
  bool borrowed_ = false, writable_ = true;
  bp_release_fn release_ = nullptr;
  void* release_user_ = nullptr;
  void* release_memory_ = nullptr;
};

}  // namespace fake
