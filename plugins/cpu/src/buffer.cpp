#include "src/buffer.hpp"

#include <cstring>
#include <new>

namespace backplane_cpu {

using backplane::sdk::Error;

void MemoryUse::add(uint64_t bytes) {
  const uint64_t now = used.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
}

HostBuffer::HostBuffer(uint64_t bytes, MemoryUse& use) : bytes_(bytes), use_(&use) {
  if (bytes != 0) {
    data_ = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kBufferAlignment}, std::nothrow));
    if (data_ == nullptr)
      throw Error(BP_E_DEVICE_MEMORY, "the system refused " + std::to_string(bytes) + " bytes of memory");
  }
  use.add(bytes);
}

HostBuffer::HostBuffer(void* memory, uint64_t bytes, bool writable, bp_release_fn release, void* release_user)
    : data_(static_cast<std::byte*>(memory)),
      bytes_(bytes),
      writable_(writable),
      release_(release),
      release_user_(release_user) {}

HostBuffer::~HostBuffer() {
  if (use_ != nullptr) {
    ::operator delete (data_, std::align_val_t{kBufferAlignment});
    use_->remove(bytes_);
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
