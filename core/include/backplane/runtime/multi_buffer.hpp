// MultiBuffer: memory of one memory type as one range of bytes, in as many Buffers as the device's limit asks for.
//
// All Buffers ("chunks") but the last have chunk_bytes() bytes. Moving it leaves the chunks where they are.
// Thread safety: as Buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

class MultiBuffer {
 public:
  // The largest chunk of a memory type, a multiple of its alignment where its limit allows; 2^63 = no limit. REQUIRES:
  // the device has the memory type.
  static uint64_t chunk_limit(const Device& device, uint32_t memtype);
  // Allocates; contents are undefined. Errors: invalid_argument for a memory type that is not there; those of
  // Device::allocate, and nothing is kept.
  static Result<MultiBuffer> allocate(Device& device, uint32_t memtype, uint64_t bytes, uint32_t usage);

  MultiBuffer() = default;  // empty: no device, no bytes
  uint64_t bytes() const { return bytes_; }
  uint32_t usage() const { return usage_; }  // BP_USAGE_* bits, of every chunk
  uint64_t chunk_bytes() const { return chunk_bytes_; }
  std::vector<Buffer>& chunks() { return chunks_; }
  const std::vector<Buffer>& chunks() const { return chunks_; }

  // All three are blocking, go across the borders of chunks and check the range, overflow included: out_of_range, and
  // nothing is touched.
  Status write(uint64_t offset, std::span<const std::byte> source);
  Status read(uint64_t offset, std::span<std::byte> target) const;
  Status fill(uint64_t offset, uint64_t bytes, uint8_t byte);

  // A range within one chunk, to put a tensor there.
  struct Place {
    Buffer* buffer;
    uint64_t offset;  // bytes from the chunk's start
  };
  // Errors: out_of_range if it leaves the memory or crosses the border of a chunk.
  Result<Place> place(uint64_t offset, uint64_t bytes);

 private:
  Status check_range(uint64_t offset, uint64_t bytes) const;
  // Calls visit(chunk number, offset in it, offset in the range, bytes) for each part of a range; stops at a failure.
  template <class Visit>
  Status for_each_part(uint64_t offset, uint64_t bytes, Visit&& visit) const;

  std::vector<Buffer> chunks_;
  uint64_t bytes_ = 0, chunk_bytes_ = 0;
  uint32_t usage_ = 0;
};

}  // namespace backplane
