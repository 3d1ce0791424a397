#include "buffer.hpp"

#include <cstring>

#include "device.hpp"

namespace fake {

using backplane::sdk::Error;

Buffer::Buffer(Device& device, const bp_buffer_desc& desc)
    : device_(device), live_(device.counters().live_buffers), bytes_(desc.bytes) {
  if (desc.host_ptr == nullptr || desc.host_ptr_use == BP_HOST_PTR_COPY) {
    data_ = device.memory_pool().allocate(bytes_);
    if (desc.host_ptr == nullptr) return;
    if (bytes_ != 0) std::memcpy(data_, desc.host_ptr, bytes_);
    if (desc.release != nullptr) desc.release(desc.release_user, desc.host_ptr);
    return;
  }
  const uint64_t alignment = device.options().alignment;
  if (reinterpret_cast<uintptr_t>(desc.host_ptr) % alignment != 0)
    throw Error(BP_E_INVALID_ARG, "host_ptr is not aligned to " + std::to_string(alignment) + " bytes");
  data_ = static_cast<std::byte*>(desc.host_ptr);
  borrowed_ = true;
  writable_ = desc.host_ptr_use == BP_HOST_PTR_BORROW_WRITE;
  release_ = desc.release;
  release_user_ = desc.release_user;
  release_memory_ = desc.host_ptr;
}

Buffer::~Buffer() {
  if (!borrowed_) {
    const auto claimed = claim(0, bytes_, true, "the freeing of a buffer");
    device_.memory_pool().release(data_, bytes_);
  }
  if (release_ != nullptr) release_(release_user_, release_memory_);
}

void* Buffer::map(uint64_t offset, uint64_t /*bytes*/, uint32_t flags) {
  device_.call(CallKind::kMap);
  require_visible();
  if ((flags & BP_MAP_WRITE) != 0) require_writable();
  return data_ + offset;
}

void Buffer::unmap() { require_visible(); }

void Buffer::write(uint64_t offset, const void* source, uint64_t bytes) {
  device_.call(CallKind::kWrite);
  require_writable();
  const auto claimed = claim(offset, bytes, true, "a write by the host");
  std::memcpy(data_ + offset, source, bytes);
  device_.counters().written_bytes += bytes;
}

void Buffer::read(uint64_t offset, void* target, uint64_t bytes) {
  device_.call(CallKind::kRead);
  const auto claimed = claim(offset, bytes, false, "a read by the host");
  std::memcpy(target, data_ + offset, bytes);
  device_.counters().read_bytes += bytes;
}

void Buffer::fill(uint64_t offset, uint64_t bytes, uint8_t byte) {
  device_.call(CallKind::kWrite);
  require_writable();
  const auto claimed = claim(offset, bytes, true, "a fill by the host");
  if (bytes != 0) std::memset(data_ + offset, byte, bytes);
  device_.counters().written_bytes += bytes;
}

void Buffer::require_visible() const {
  if (!device_.options().host_memory) backplane::sdk::unsupported("map of memory that the host cannot see");
}

void Buffer::require_writable() const {
  if (!writable_) throw Error(BP_E_INVALID_ARG, "the buffer borrows memory that may only be read");
}

ConflictDetector::Claim Buffer::claim(uint64_t offset, uint64_t bytes, bool write, const char* who) const {
  if (!device_.options().detect_conflicts) return {};
  return device_.claim({{data_ + offset, bytes, write, 0}},
                       [this, who](uint32_t) { return device_.name() + ": " + who; });
}

}  // namespace fake
