// Buffer: an owned block of memory of one memory type of one device.
//
// Thread safety: calls on one Buffer are serialised by the caller. The Buffer must be destroyed before its Device's
// Runtime, and after the streams that use it are synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "backplane/abi/buffer.h"
#include "backplane/abi/device.h"
#include "backplane/base/status.hpp"

namespace backplane {

class Device;

class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, bp_buffer* handle, uint32_t memtype, uint32_t usage, uint64_t bytes);
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;

  explicit operator bool() const { return device_ != nullptr; }
  Device& device() const { return *device_; }
  bp_buffer* handle() const { return handle_; }
  uint32_t memtype() const { return memtype_; }
  uint32_t usage() const { return usage_; }  // BP_USAGE_* bits, as asked for when it was made
  uint64_t bytes() const { return bytes_; }

  // All three are blocking and check the range, overflow included: out_of_range, and nothing is touched.
  Status write(uint64_t offset, std::span<const std::byte> source);
  Status read(uint64_t offset, std::span<std::byte> target) const;
  Status fill(uint64_t offset, uint64_t bytes, uint8_t byte);

  // The address of a range of host-visible memory, valid until unmap. Errors: unimplemented for other memory.
  Result<std::byte*> map(uint64_t offset, uint64_t bytes, uint32_t flags);
  Status unmap();

  // Frees the memory now.
  void reset();

 private:
  Status check_range(uint64_t offset, uint64_t bytes) const;

  Device* device_ = nullptr;
  bp_buffer* handle_ = nullptr;
  uint32_t memtype_ = 0, usage_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace backplane
