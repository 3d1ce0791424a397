#include "src/buffer.hpp"

#include <cstring>

namespace backplane_cpu {

using backplane::sdk::Error;

HostBuffer::HostBuffer(uint64_t bytes, uint64_t alignment, Memory& memory)
    : data_(memory.allocate(bytes, alignment)), bytes_(bytes), memory_(&memory), alignment_(alignment) {}

HostBuffer::HostBuffer(void* memory, uint64_t bytes, bool writable, bp_release_fn release, void* release_user)
    : data_(static_cast<std::byte*>(memory)),
      bytes_(bytes),
      writable_(writable),
      release_(release),
      release_user_(release_user) {}

HostBuffer::~HostBuffer() {
  if (memory_ != nullptr) {
    memory_->release(data_, bytes_, alignment_);
  } else if (release_ != nullptr) {
    release_(release_user_, data_);
  }
}

void HostBuffer::require_writable() const {
  if (!writable_) throw Error(BP_E_INVALID_ARG, "the memory of this buffer was lent for reading only");
}

void* HostBuffer::map(uint64_t offset, uint64_t, uint32_t flags) {
  if ((flags & BP_MAP_WRITE) != 0) require_writable();
  return data_ == nullptr ? nullptr : data_ + offset;
}

void HostBuffer::write(uint64_t offset, const void* source, uint64_t bytes) {
  require_writable();
  std::memcpy(data_ + offset, source, bytes);
}

void HostBuffer::read(uint64_t offset, void* target, uint64_t bytes) { std::memcpy(target, data_ + offset, bytes); }

void HostBuffer::fill(uint64_t offset, uint64_t bytes, uint8_t byte) {
  require_writable();
  if (bytes != 0) std::memset(data_ + offset, byte, bytes);
}

}  // namespace backplane_cpu
