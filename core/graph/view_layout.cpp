#include "view_layout.hpp"

#include <algorithm>
#include <cstring>

#include "backplane/graph/host_tensor.hpp"

namespace backplane {
namespace {

// Extents counted in blocks: from here on all types look alike.
std::vector<int64_t> block_extents(DType dtype, std::span<const int64_t> shape) {
  std::vector<int64_t> extents(shape.begin(), shape.end());
  if (!extents.empty()) extents.back() /= type_layout(dtype).block_elements;
  return extents;
}

bool has_zero(std::span<const int64_t> shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

struct Axis {
  int64_t extent;
  int64_t stride;
};

// Visits the blocks of a strided tensor in the order of its elements; calls visit(offset in bytes).
template <class Visit>
void for_each_block(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides, Visit&& visit) {
  if (has_zero(shape)) return;
  const std::vector<int64_t> extents = block_extents(dtype, shape);
  std::vector<int64_t> index(extents.size());
  int64_t offset = 0;
  while (true) {
    visit(offset);
    size_t axis = extents.size();
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1]) {
      --axis;
      offset -= strides[axis] * (extents[axis] - 1);
      index[axis] = 0;
    }
    if (axis == 0) return;
    offset += strides[axis - 1];
  }
}

}  // namespace

void make_canonical(DType dtype, std::span<const int64_t> shape, std::vector<int64_t>& strides) {
  if (has_zero(shape)) {
    strides = dense_strides(dtype, shape);
    return;
  }
  const std::vector<int64_t> extents = block_extents(dtype, shape);
  int64_t inner = type_layout(dtype).block_bytes;
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] == 1) strides[axis] = inner;
    inner = strides[axis] * extents[axis];
  }
}

bool is_dense(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  const std::vector<int64_t> wanted = dense_strides(dtype, shape);
  return std::equal(strides.begin(), strides.end(), wanted.begin(), wanted.end());
}

uint64_t touched_bytes(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides) {
  if (has_zero(shape)) return 0;
  const std::vector<int64_t> extents = block_extents(dtype, shape);
  uint64_t bytes = type_layout(dtype).block_bytes;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    bytes += static_cast<uint64_t>(extents[axis] - 1) * static_cast<uint64_t>(strides[axis]);
  return bytes;
}

// Walks both shapes outermost first in the smallest groups of axes that hold equally many elements; a group can be
// regrouped if its old axes are contiguous with each other.
std::optional<std::vector<int64_t>> reshape_strides(DType dtype, std::span<const int64_t> shape,
                                                    std::span<const int64_t> strides,
                                                    std::span<const int64_t> new_shape) {
  if (has_zero(shape)) return dense_strides(dtype, new_shape);
  const std::vector<int64_t> extents = block_extents(dtype, shape);
  const std::vector<int64_t> wanted = block_extents(dtype, new_shape);
  std::vector<Axis> old;
  for (size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] != 1) old.push_back({extents[axis], strides[axis]});

  std::vector<int64_t> result(new_shape.size());
  size_t o = 0, n = 0;
  while (o < old.size()) {
    const size_t first = n;
    int64_t old_count = old[o].extent, new_count = wanted[n++];
    while (old_count != new_count) {
      if (new_count < old_count) {
        new_count *= wanted[n++];
        continue;
      }
      if (old[o].stride != old[o + 1].stride * old[o + 1].extent) return std::nullopt;
      old_count *= old[++o].extent;
    }
    int64_t stride = old[o++].stride;
    for (size_t axis = n; axis-- > first;) {
      result[axis] = stride;
      stride *= wanted[axis];
    }
  }
  make_canonical(dtype, new_shape, result);  // fills in the trailing axes, all of extent 1
  return result;
}

void gather_dense(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides, const std::byte* from,
                  std::byte* to) {
  const size_t unit = type_layout(dtype).block_bytes;
  for_each_block(dtype, shape, strides, [&](int64_t offset) {
    std::memcpy(to, from + offset, unit);
    to += unit;
  });
}

void scatter_dense(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides, const std::byte* from,
                   std::byte* to) {
  const size_t unit = type_layout(dtype).block_bytes;
  for_each_block(dtype, shape, strides, [&](int64_t offset) {
    std::memcpy(to + offset, from, unit);
    from += unit;
  });
}

}  // namespace backplane
