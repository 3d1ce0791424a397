#include "backplane/runtime/multi_buffer.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 63;

}  // namespace

uint64_t MultiBuffer::chunk_limit(const Device& device, uint32_t memtype) {
  const MemoryType& type = device.memory_types()[memtype];
  if (type.max_bytes == 0) return kNoLimit;
  // Below the alignment there is no multiple: offsets in later chunks are aligned only where a chunk starts.
  return type.max_bytes < type.alignment ? type.max_bytes : type.max_bytes / type.alignment * type.alignment;
}

Result<MultiBuffer> MultiBuffer::allocate(Device& device, uint32_t memtype, uint64_t bytes, uint32_t usage) {
  if (memtype >= device.memory_types().size())
    return invalid_argument(
        cat(device.name(), " has no memory type ", memtype, "; it has ", device.memory_types().size()));
  MultiBuffer made;
  made.bytes_ = bytes;
  made.usage_ = usage;
  made.chunk_bytes_ = chunk_limit(device, memtype);
  uint64_t left = bytes;
  do {
    const uint64_t size = std::min(left, made.chunk_bytes_);
    Result<Buffer> chunk = device.allocate(memtype, size, usage);
    if (!chunk.ok())
      return chunk.status().with_context(
          cat("allocating ", bytes_text(size), ", chunk ", made.chunks_.size(), " of ", bytes_text(bytes)));
    made.chunks_.push_back(std::move(chunk).value());
    left -= size;
  } while (left != 0);
  return made;
}

Status MultiBuffer::check_range(uint64_t offset, uint64_t bytes) const {
  if (chunks_.empty()) return failed_precondition("the memory is empty: it was never allocated, or was moved from");
  if (offset <= bytes_ && bytes <= bytes_ - offset) return {};
  return out_of_range(cat("bytes ", offset, " + ", bytes, " lie outside memory of ", bytes_, " bytes on ",
                          chunks_.front().device().name()));
}

template <class Visit>
Status MultiBuffer::for_each_part(uint64_t offset, uint64_t bytes, Visit&& visit) const {
  BP_TRY(check_range(offset, bytes));
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t at = offset + done, within = at % chunk_bytes_;
    const uint64_t part = std::min(bytes - done, chunk_bytes_ - within);
    BP_TRY(visit(at / chunk_bytes_, within, done, part));
    done += part;
  }
  return {};
}

Status MultiBuffer::write(uint64_t offset, std::span<const std::byte> source) {
  return for_each_part(offset, source.size(), [&](uint64_t chunk, uint64_t within, uint64_t done, uint64_t part) {
    return chunks_[chunk].write(within, source.subspan(done, part));
  });
}

Status MultiBuffer::read(uint64_t offset, std::span<std::byte> target) const {
  return for_each_part(offset, target.size(), [&](uint64_t chunk, uint64_t within, uint64_t done, uint64_t part) {
    return chunks_[chunk].read(within, target.subspan(done, part));
  });
}

Status MultiBuffer::fill(uint64_t offset, uint64_t bytes, uint8_t byte) {
  return for_each_part(offset, bytes, [&](uint64_t chunk, uint64_t within, uint64_t, uint64_t part) {
    return chunks_[chunk].fill(within, part, byte);
  });
}

Result<MultiBuffer::Place> MultiBuffer::place(uint64_t offset, uint64_t bytes) {
  BP_TRY(check_range(offset, bytes));
  // Nothing at the very end lies in the last chunk, which may be full.
  const uint64_t chunk = std::min<uint64_t>(offset / chunk_bytes_, chunks_.size() - 1);
  const uint64_t within = offset - chunk * chunk_bytes_;
  if (bytes > chunks_[chunk].bytes() - within)
    return out_of_range(cat("bytes ", offset, " + ", bytes, " cross the border of a chunk; chunks have ", chunk_bytes_,
                            " bytes on ", chunks_.front().device().name()));
  return Place{&chunks_[chunk], within};
}

}  // namespace backplane
