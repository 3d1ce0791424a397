#include "kernels/table_kernel.hpp"

#include <cstring>

#include "kernels/elementwise.hpp"

namespace backplane_cpu {

TableKernel::TableKernel(std::vector<std::vector<int64_t>> offsets, const TensorView& output, bool has_value,
                         std::array<std::byte, 8> outside)
    : offsets_(std::move(offsets)), output_(output), has_value_(has_value), outside_(outside) {
  if (offsets_.empty()) offsets_.push_back({0});  // rank 0 has one place
}

uint32_t TableKernel::max_workers() const { return workers_for(output_.count()); }

void TableKernel::run(const RunArgs& args) const noexcept {
  switch (output_.element()) {
    case 1:
      return move<uint8_t>(args);
    case 2:
      return move<uint16_t>(args);
    case 4:
      return move<uint32_t>(args);
    default:
      return move<uint64_t>(args);
  }
}

template <class T>
void TableKernel::move(const RunArgs& args) const {
  const Range range = share(output_.count(), kChunk, args.worker, args.workers);
  T outside;
  std::memcpy(&outside, has_value_ ? args.inputs[1] : outside_.data(), sizeof(T));
  T chunk[kChunk];
  for (int64_t at = range.begin; at < range.end; at += kChunk) {
    const int64_t count = std::min(kChunk, range.end - at);
    fill<T>(args.inputs[0], outside, at, count, chunk);
    output_.scatter(reinterpret_cast<const std::byte*>(chunk), at, count, args.outputs[0]);
  }
}

// Computes the output's elements [begin, begin + count).
template <class T>
void TableKernel::fill(const std::byte* input, T outside, int64_t begin, int64_t count, T* to) const {
  const std::vector<int64_t>& inner = offsets_.back();
  const int64_t width = static_cast<int64_t>(inner.size());
  for (int64_t done = 0; done < count;) {
    const int64_t column = (begin + done) % width;
    const int64_t length = std::min(width - column, count - done);
    const int64_t row = row_offset((begin + done) / width);
    for (int64_t i = 0; i < length; ++i) {
      T element = outside;
      if (row != kOutside && inner[column + i] != kOutside)
        std::memcpy(&element, input + row + inner[column + i], sizeof(T));
      to[done + i] = element;
    }
    done += length;
  }
}

// Byte offset of a row of the innermost axis, or kOutside.
int64_t TableKernel::row_offset(int64_t row) const {
  int64_t offset = 0;
  for (size_t axis = offsets_.size() - 1; axis-- > 0;) {
    const int64_t extent = static_cast<int64_t>(offsets_[axis].size());
    const int64_t part = offsets_[axis][row % extent];
    if (part == kOutside) return kOutside;
    offset += part;
    row /= extent;
  }
  return offset;
}

}  // namespace backplane_cpu
