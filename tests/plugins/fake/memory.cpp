#include "memory.hpp"

#include <algorithm>
#include <cstring>

namespace fake {

using backplane::sdk::Error;

std::byte* Memory::allocate(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  if (limit_ != 0 && bytes > limit_ - used_)
    throw Error(BP_E_DEVICE_MEMORY, "wanted " + std::to_string(bytes) + " bytes, " + std::to_string(limit_ - used_) +
                                        " of " + std::to_string(limit_) + " are free");
  auto* block = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(alignment_), std::nothrow));
  if (block == nullptr) throw Error(BP_E_DEVICE_MEMORY, "no block of " + std::to_string(bytes) + " bytes could be had");
  std::memset(block, kPoisonUnwritten, bytes);
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return block;
}

void Memory::release(std::byte* block, uint64_t bytes) noexcept {
  if (block == nullptr) return;
  std::memset(block, kPoisonFreed, bytes);
  // The poison must reach memory although nobody may read it: keep the compiler from dropping the store.
  __asm__ volatile("" : : "r"(block) : "memory");
  ::operator delete(block, std::align_val_t(alignment_));
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
}

bp_memory_stats Memory::stats() const {
  const std::lock_guard lock(mutex_);
  bp_memory_stats stats{};
  stats.valid = BP_STATS_USED | BP_STATS_PEAK;
  stats.used = used_;
  stats.peak = peak_;
  if (limit_ == 0) return stats;
  stats.valid |= BP_STATS_TOTAL | BP_STATS_FREE | BP_STATS_LARGEST_FREE;
  stats.total = limit_;
  stats.free = stats.largest_free = limit_ - used_;
  return stats;
}

Buffer::Buffer(Memory& memory, const void* owner, bool host_visible, const bp_buffer_desc& desc)
    : memory_(memory), owner_(owner), host_visible_(host_visible), bytes_(desc.bytes) {
  if (desc.host_ptr == nullptr || desc.host_ptr_use == BP_HOST_PTR_COPY) {
    data_ = memory_.allocate(bytes_);
    if (desc.host_ptr == nullptr) return;
    if (bytes_ != 0) std::memcpy(data_, desc.host_ptr, bytes_);
    if (desc.release != nullptr) desc.release(desc.release_user, desc.host_ptr);
    return;
  }
  if (reinterpret_cast<uintptr_t>(desc.host_ptr) % memory_.alignment() != 0)
    throw Error(BP_E_INVALID_ARG, "host_ptr is not aligned to " + std::to_string(memory_.alignment()) + " bytes");
  data_ = static_cast<std::byte*>(desc.host_ptr);
  borrowed_ = true;
  writable_ = desc.host_ptr_use == BP_HOST_PTR_BORROW_WRITE;
  release_ = desc.release;
  release_user_ = desc.release_user;
  release_memory_ = desc.host_ptr;
}

Buffer::~Buffer() {
  if (!borrowed_) memory_.release(data_, bytes_);
  if (release_ != nullptr) release_(release_user_, release_memory_);
}

void* Buffer::map(uint64_t offset, uint64_t /*bytes*/, uint32_t flags) {
  if (!host_visible_) backplane::sdk::unsupported("map of memory that the host cannot see");
  if ((flags & BP_MAP_WRITE) != 0) require_writable();
  return data_ + offset;
}

void Buffer::unmap() {
  if (!host_visible_) backplane::sdk::unsupported("unmap of memory that the host cannot see");
}

void Buffer::write(uint64_t offset, const void* source, uint64_t bytes) {
  require_writable();
  std::memcpy(data_ + offset, source, bytes);
}

void Buffer::read(uint64_t offset, void* target, uint64_t bytes) { std::memcpy(target, data_ + offset, bytes); }

void Buffer::fill(uint64_t offset, uint64_t bytes, uint8_t byte) {
  require_writable();
  if (bytes != 0) std::memset(data_ + offset, byte, bytes);
}

void Buffer::require_writable() const {
  if (!writable_) throw Error(BP_E_INVALID_ARG, "the buffer borrows memory that may only be read");
}

}  // namespace fake
