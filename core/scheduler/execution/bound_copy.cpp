#include "scheduler/execution/bound_copy.hpp"

#include <cstring>

#include "scheduler/memory/device_memory.hpp"

namespace backplane {

BoundCopy::BoundCopy(const Plan& plan, std::span<const PlannedCopy> transfer, const BoundMemory& memory,
                     const Device& target)
    : planned_(transfer.front()), region_{planned_.offset, planned_.row_bytes, planned_.rows, planned_.pitch_bytes} {
  const PlannedCopy &planned = planned_, &last = transfer.back();
  if (transfer.size() > 1) {
    const uint64_t begin = memory.spot_on(planned.storage, planned.from, 0).offset;
    region_.row_bytes = memory.spot_on(last.storage, last.from, 0).offset + last.row_bytes - begin;
  }
  const StorageId indices = planned.indices == kNone ? kNone : plan.graph->storage_of(planned.indices);
  if (indices != kNone) rows_.emplace(*plan.graph, planned.indices, planned.rows);
  for (uint32_t slot = 0; slot < memory.depth(); ++slot) {
    spots_.push_back(
        {memory.spot_on(planned.storage, planned.from, slot), memory.spot_on(planned.storage, planned.to, slot), {}});
    if (indices != kNone && !plan.graph->is_constant(indices))
      spots_.back().indices = memory.spot_on(indices, plan.homes[indices], slot);
  }
  const SharedBuffer& source = *spots_.front().from.buffer;
  const SharedBuffer& sink = *spots_.front().to.buffer;
  const Device& from = source.buffer.device();
  from_is_foreign_ = from.plugin_id() != target.plugin_id();
  const bool reach = reach_each_other(from, target);
  queued_ = target.has(BP_CAP_ASYNC) ? reach || source.address != nullptr
                                     : reach && (source.address == nullptr || sink.address == nullptr);
}

uint64_t BoundCopy::staging_bytes() const {
  const Ends& ends = spots_.front();
  if (ends.from.buffer->address != nullptr || ends.to.buffer->address != nullptr) return 0;
  return rows_ ? planned_.bytes() : region_.row_bytes;
}

Result<uint64_t> BoundCopy::run(Lane& target, uint32_t slot, std::span<std::byte> staging) {
  const Ends& ends = spots_[slot];
  if (planned_.bytes() == 0) return uint64_t{0};
  if (rows_) return copy_rows(target, ends, staging);
  BP_TRY(copy(target, ends, region_, staging));
  return planned_.bytes();
}

// The indices may be this device's own, still being computed.
Result<uint64_t> BoundCopy::copy_rows(Lane& target, const Ends& ends, std::span<std::byte> staging) {
  if (target.is_async()) BP_TRY(target.stream().synchronize());
  if (ends.indices.buffer != nullptr) BP_TRY(ends.indices.buffer->read(ends.indices.offset, rows_->index_bytes()));
  BP_TRY(rows_->find());
  uint64_t copied = 0;
  BP_TRY(rows_->for_each_run([&](uint64_t first, uint64_t count) {
    const uint64_t bytes = count * planned_.row_bytes;
    copied += bytes;
    return copy(target, ends, {first * planned_.row_bytes, bytes, 1, bytes}, staging);
  }));
  return copied;
}

Status BoundCopy::copy(Lane& target, const Ends& ends, const Region& region, std::span<std::byte> staging) {
  if (queued_) {
    Status status = queue(target, ends, region);
    if (status.code() != Code::unimplemented) return status;
    queued_ = false;
  }
  // What was queued before may still use the memory.
  if (target.is_async()) BP_TRY(target.stream().synchronize());
  return copy_now(ends, region, staging);
}

Status BoundCopy::queue(Lane& target, const Ends& ends, const Region& region) {
  bp_copy_desc desc{};
  if (ends.from.buffer->address != nullptr)
    desc.source_host = ends.from.buffer->address + ends.from.offset + region.offset;
  else
    desc.source = ends.from.buffer->buffer.handle();
  desc.target = ends.to.buffer->buffer.handle();
  desc.source_offset = desc.source == nullptr ? 0 : ends.from.offset + region.offset;
  desc.target_offset = ends.to.offset + region.offset;
  desc.row_bytes = region.row_bytes;
  desc.rows = region.rows;
  desc.source_pitch_bytes = desc.target_pitch_bytes = region.pitch_bytes;
  return target.stream().copy(desc);
}

Status BoundCopy::copy_now(const Ends& ends, const Region& region, std::span<std::byte> staging) {
  SharedBuffer &source = *ends.from.buffer, &sink = *ends.to.buffer;
  for (uint64_t row = 0; row < region.rows; ++row) {
    const uint64_t at = region.offset + row * region.pitch_bytes;
    const uint64_t from = ends.from.offset + at, to = ends.to.offset + at;
    if (source.address != nullptr && sink.address != nullptr) {
      std::memcpy(sink.address + to, source.address + from, region.row_bytes);
    } else if (source.address != nullptr) {
      BP_TRY(sink.write(to, {source.address + from, region.row_bytes}));
    } else if (sink.address != nullptr) {
      BP_TRY(source.read(from, {sink.address + to, region.row_bytes}));
    } else {
      BP_TRY(source.read(from, staging.first(region.row_bytes)));
      BP_TRY(sink.write(to, staging.first(region.row_bytes)));
    }
  }
  return {};
}

}  // namespace backplane
