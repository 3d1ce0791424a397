#include "scheduler/execution/bound_copy.hpp"

#include <cstring>

namespace backplane {

BoundCopy::BoundCopy(const PlannedCopy& planned, const BoundMemory& memory, const Lane& target) : planned_(planned) {
  for (uint32_t slot = 0; slot < memory.depth(); ++slot)
    spots_.push_back(
        {memory.spot_on(planned.storage, planned.from, slot), memory.spot_on(planned.storage, planned.to, slot)});
  const SharedBuffer& source = *spots_.front().from.buffer;
  const SharedBuffer& sink = *spots_.front().to.buffer;
  const Device& from = source.buffer.device();
  from_is_foreign_ = from.plugin_id() != target.device().plugin_id();
  const bool reach = !from_is_foreign_ && from.has(BP_CAP_PEER_COPY) && target.device().has(BP_CAP_PEER_COPY);
  queued_ = target.is_async() ? reach || source.address != nullptr
                              : reach && (source.address == nullptr || sink.address == nullptr);
}

uint64_t BoundCopy::staging_bytes() const {
  const Ends& ends = spots_.front();
  return ends.from.buffer->address == nullptr && ends.to.buffer->address == nullptr ? planned_.row_bytes : 0;
}

Status BoundCopy::run(Lane& target, uint32_t slot, std::span<std::byte> staging) {
  const Ends& ends = spots_[slot];
  if (planned_.bytes() == 0) return {};
  if (queued_) {
    Status status = queue(target, ends);
    if (status.code() != Code::unimplemented) return status;
    queued_ = false;
  }
  // What was queued before may still use the memory.
  if (target.is_async()) BP_TRY(target.stream().synchronize());
  return copy_now(ends, staging);
}

Status BoundCopy::queue(Lane& target, const Ends& ends) {
  bp_copy_desc desc{};
  if (ends.from.buffer->address != nullptr)
    desc.source_host = ends.from.buffer->address + ends.from.offset + planned_.offset;
  else
    desc.source = ends.from.buffer->buffer.handle();
  desc.target = ends.to.buffer->buffer.handle();
  desc.source_offset = desc.source == nullptr ? 0 : ends.from.offset + planned_.offset;
  desc.target_offset = ends.to.offset + planned_.offset;
  desc.row_bytes = planned_.row_bytes;
  desc.rows = planned_.rows;
  desc.source_pitch_bytes = desc.target_pitch_bytes = planned_.pitch_bytes;
  return target.stream().copy(desc);
}

Status BoundCopy::copy_now(const Ends& ends, std::span<std::byte> staging) const {
  SharedBuffer &source = *ends.from.buffer, &sink = *ends.to.buffer;
  for (uint64_t row = 0; row < planned_.rows; ++row) {
    const uint64_t at = planned_.offset + row * planned_.pitch_bytes;
    const uint64_t from = ends.from.offset + at, to = ends.to.offset + at;
    if (source.address != nullptr && sink.address != nullptr) {
      std::memcpy(sink.address + to, source.address + from, planned_.row_bytes);
    } else if (source.address != nullptr) {
      BP_TRY(sink.write(to, {source.address + from, planned_.row_bytes}));
    } else if (sink.address != nullptr) {
      BP_TRY(source.read(from, {sink.address + to, planned_.row_bytes}));
    } else {
      BP_TRY(source.read(from, staging.first(planned_.row_bytes)));
      BP_TRY(sink.write(to, staging.first(planned_.row_bytes)));
    }
  }
  return {};
}

}  // namespace backplane
