#include "kernels/walk.hpp"

#include <cstring>

#include "kernels/checks.hpp"

namespace backplane_cpu {
namespace {

// Copies `count` elements of type T between strided places. Memory may be shared with other types: hence memcpy.
template <class T>
void move_run(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t count) {
  constexpr int64_t kBytes = sizeof(T);
  if (from_stride == kBytes && to_stride == kBytes) {
    std::memcpy(to, from, static_cast<size_t>(count * kBytes));
    return;
  }
  T value;
  if (from_stride == 0 && to_stride == kBytes) {
    std::memcpy(&value, from, sizeof(T));
    for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * kBytes, &value, sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(&value, from + i * from_stride, sizeof(T));
    std::memcpy(to + i * to_stride, &value, sizeof(T));
  }
}

void move_elements(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t count,
                   size_t element) {
  switch (element) {
    case 1:
      return move_run<uint8_t>(from, from_stride, to, to_stride, count);
    case 2:
      return move_run<uint16_t>(from, from_stride, to, to_stride, count);
    case 4:
      return move_run<uint32_t>(from, from_stride, to, to_stride, count);
    case 8:
      return move_run<uint64_t>(from, from_stride, to, to_stride, count);
    default:
      for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, element);
  }
}

}  // namespace

Walk::Walk(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t element)
    : count_(1), element_(element) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    count_ *= shape[axis];
    if (shape[axis] == 1) continue;
    if (rank_ > 0 && stride_[rank_ - 1] == strides[axis] * shape[axis]) {
      extent_[rank_ - 1] *= shape[axis];
      stride_[rank_ - 1] = strides[axis];
    } else {
      extent_[rank_] = shape[axis];
      stride_[rank_++] = strides[axis];
    }
  }
  if (rank_ == 0) {
    extent_[0] = 1;
    stride_[0] = static_cast<int64_t>(element);
    rank_ = 1;
  }
  dense_ = count_ == 0 || (rank_ == 1 && stride_[0] == static_cast<int64_t>(element));
  constant_ = count_ <= 1 || (rank_ == 1 && stride_[0] == 0);
}

std::vector<int64_t> unit_extents(const TensorView& tensor) {
  std::vector<int64_t> extents(tensor.shape().begin(), tensor.shape().end());
  if (!extents.empty()) extents.back() /= backplane::sdk::type_layout(tensor.dtype()).block_elements;
  return extents;
}

Walk::Walk(const TensorView& tensor)
    : Walk(unit_extents(tensor), tensor.strides(), backplane::sdk::type_layout(tensor.dtype()).block_bytes) {}

Walk Walk::broadcast(const TensorView& tensor, std::span<const int64_t> shape) {
  std::array<int64_t, kMaxRank> strides{};
  bool fits = tensor.rank() <= shape.size() && shape.size() <= kMaxRank;
  const size_t added = fits ? shape.size() - tensor.rank() : 0;
  for (uint32_t axis = 0; fits && axis < tensor.rank(); ++axis) {
    const int64_t extent = tensor.shape()[axis];
    fits = extent == shape[axis + added] || extent == 1;
    if (extent != 1) strides[axis + added] = tensor.strides()[axis];
  }
  if (!fits) refuse("shape " + shape_text(tensor.shape()) + " does not broadcast to " + shape_text(shape));
  return Walk(shape, {strides.data(), shape.size()}, element_bytes(tensor.dtype()));
}

int64_t Walk::position(int64_t index) const {
  int64_t at = 0;
  for (uint32_t axis = rank_; axis-- > 1;) {
    at += index % extent_[axis] * stride_[axis];
    index /= extent_[axis];
  }
  return at + index * stride_[0];
}

// Calls visit(position, stride, length, done) for every run along the innermost axis.
template <class Visit>
void Walk::visit_runs(int64_t begin, int64_t count, const Visit& visit) const {
  if (count <= 0) return;
  std::array<int64_t, kMaxAxes> index;
  int64_t rest = begin;
  int64_t at = 0;  // of the start of the row
  const uint32_t inner = rank_ - 1;
  for (uint32_t axis = rank_; axis-- > 0;) {
    index[axis] = axis == 0 ? rest : rest % extent_[axis];
    rest /= extent_[axis];
    if (axis != inner) at += index[axis] * stride_[axis];
  }
  for (int64_t done = 0; done < count;) {
    const int64_t length = std::min(extent_[inner] - index[inner], count - done);
    visit(at + index[inner] * stride_[inner], stride_[inner], length, done);
    done += length;
    index[inner] = 0;
    for (uint32_t axis = inner; axis-- > 0;) {
      at += stride_[axis];
      if (++index[axis] < extent_[axis]) break;
      at -= extent_[axis] * stride_[axis];
      index[axis] = 0;
    }
  }
}

void Walk::gather(const std::byte* base, int64_t begin, int64_t count, std::byte* to) const {
  const int64_t element = static_cast<int64_t>(element_);
  visit_runs(begin, count, [=, this](int64_t at, int64_t stride, int64_t length, int64_t done) {
    move_elements(base + at, stride, to + done * element, element, length, element_);
  });
}

void Walk::scatter(const std::byte* from, int64_t begin, int64_t count, std::byte* base) const {
  const int64_t element = static_cast<int64_t>(element_);
  visit_runs(begin, count, [=, this](int64_t at, int64_t stride, int64_t length, int64_t done) {
    move_elements(from + done * element, element, base + at, stride, length, element_);
  });
}

void copy_elements(const Walk& from_walk, const std::byte* from, const Walk& to_walk, std::byte* to, int64_t begin,
                   int64_t end) {
  const int64_t element = static_cast<int64_t>(from_walk.element());
  if (begin >= end) return;
  if (to_walk.dense()) return from_walk.gather(from, begin, end - begin, to + begin * element);
  if (from_walk.dense()) return to_walk.scatter(from + begin * element, begin, end - begin, to);
  constexpr int64_t kChunkBytes = 4096;
  alignas(64) std::byte chunk[kChunkBytes];
  const int64_t step = kChunkBytes / element;
  for (int64_t at = begin; at < end; at += step) {
    const int64_t count = std::min(step, end - at);
    from_walk.gather(from, at, count, chunk);
    to_walk.scatter(chunk, at, count, to);
  }
}

}  // namespace backplane_cpu
