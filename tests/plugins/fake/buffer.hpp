// Memory of a fake device, or borrowed host memory. Thread safety: callers serialise, as the ABI says.
#pragma once

#include "conflict_detector.hpp"
#include "counters.hpp"
#include "memory.hpp"

namespace fake {

class Device;

class Buffer final : public backplane::sdk::Buffer {
 public:
  // Allocates or imports. The descriptor was checked. Throws BP_E_DEVICE_MEMORY, BP_E_INVALID_ARG.
  Buffer(Device& device, const bp_buffer_desc& desc);
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
  const Device& device() const { return device_; }
  bool writable() const { return writable_; }

 private:
  void require_visible() const;
  void require_writable() const;
  ConflictDetector::Claim claim(uint64_t offset, uint64_t bytes, bool write, const char* who) const;

  Device& device_;
  const Live live_;
  const uint64_t bytes_;
  std::byte* data_ = nullptr;
  bool borrowed_ = false, writable_ = true;
  bp_release_fn release_ = nullptr;
  void* release_user_ = nullptr;
  void* release_memory_ = nullptr;
};

}  // namespace fake
