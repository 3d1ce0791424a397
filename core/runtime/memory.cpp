#include "backplane/runtime/memory.hpp"

#include "backplane/base/text.hpp"
#include "backplane/runtime/device.hpp"
#include "registry/plugin/plugin_call.hpp"

namespace backplane {

Buffer::Buffer(Device& device, bp_buffer* handle, uint32_t memtype, uint32_t usage, uint64_t bytes)
    : device_(&device), handle_(handle), memtype_(memtype), usage_(usage), bytes_(bytes) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  device_ = std::exchange(other.device_, nullptr);
  handle_ = std::exchange(other.handle_, nullptr);
  memtype_ = std::exchange(other.memtype_, 0);
  usage_ = std::exchange(other.usage_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

Status Buffer::check_range(uint64_t offset, uint64_t bytes) const {
  if (device_ == nullptr) return failed_precondition("the buffer is empty: it was never allocated, or was moved from");
  if (offset <= bytes_ && bytes <= bytes_ - offset) return {};
  return out_of_range(
      cat("bytes ", offset, " + ", bytes, " lie outside a buffer of ", bytes_, " bytes on ", device_->name()));
}

Status Buffer::write(uint64_t offset, std::span<const std::byte> source) {
  BP_TRY(check_range(offset, source.size()));
  return call_plugin("buffer write",
                     [&](bp_error* error) {
                       return device_->tables().buffer_i->write(handle_, offset, source.data(), source.size(), error);
                     })
      .with_context(device_->name());
}

Status Buffer::read(uint64_t offset, std::span<std::byte> target) const {
  BP_TRY(check_range(offset, target.size()));
  return call_plugin("buffer read",
                     [&](bp_error* error) {
                       return device_->tables().buffer_i->read(handle_, offset, target.data(), target.size(), error);
                     })
      .with_context(device_->name());
}

Status Buffer::fill(uint64_t offset, uint64_t bytes, uint8_t byte) {
  BP_TRY(check_range(offset, bytes));
  return call_plugin(
             "buffer fill",
             [&](bp_error* error) { return device_->tables().buffer_i->fill(handle_, offset, bytes, byte, error); })
      .with_context(device_->name());
}

Result<std::byte*> Buffer::map(uint64_t offset, uint64_t bytes, uint32_t flags) {
  BP_TRY(check_range(offset, bytes));
  void* address = nullptr;
  BP_TRY(call_plugin("buffer map", [&](bp_error* error) {
           return device_->tables().buffer_i->map(handle_, offset, bytes, flags, &address, error);
         }).with_context(device_->name()));
  if (address == nullptr && bytes > 0)
    return internal_error(cat(device_->name(), ": buffer map succeeded without an address"));
  return static_cast<std::byte*>(address);
}

Status Buffer::unmap() {
  BP_TRY(check_range(0, 0));
  return call_plugin("buffer unmap", [&](bp_error* error) { return device_->tables().buffer_i->unmap(handle_, error); })
      .with_context(device_->name());
}

void Buffer::reset() {
  if (device_ != nullptr) device_->tables().buffer_i->destroy(handle_);
  device_ = nullptr;
  handle_ = nullptr;
  memtype_ = usage_ = 0;
  bytes_ = 0;
}

}  // namespace backplane
