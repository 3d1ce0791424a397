// Iteration: walking shapes. Internal to core/reference. Strides here count elements. Thread safety: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace backplane::reference {

using Shape = std::vector<int64_t>;

// Product of the extents; 1 for none. REQUIRES: it fits, as the extents of an existing tensor do.
int64_t product(std::span<const int64_t> extents);
Shape element_strides(std::span<const int64_t> shape);
// Strides that read a dense tensor of shape `from` as if broadcast to `to`.
Shape broadcast_strides(std::span<const int64_t> from, std::span<const int64_t> to);

// A shape seen from one axis: element (o, i, n) of a dense tensor is at (o * extent + i) * inner + n.
struct AxisSplit {
  int64_t outer, extent, inner;
};
AxisSplit split_at(std::span<const int64_t> shape, int64_t axis);

// Calls f for every index of `shape` in row-major order with the offsets of that index under each set of strides.
template <size_t N, class F>
void walk(std::span<const int64_t> shape, const std::array<Shape, N>& strides, F&& f) {
  std::vector<int64_t> index(shape.size());
  std::array<int64_t, N> at{};
  for (int64_t left = product(shape); left > 0; --left) {
    f(static_cast<const std::array<int64_t, N>&>(at));
    for (size_t axis = shape.size(); axis-- > 0;) {
      const int64_t steps = ++index[axis] < shape[axis] ? 1 : 1 - shape[axis];
      for (size_t n = 0; n < N; ++n) at[n] += steps * strides[n][axis];
      if (steps == 1) break;
      index[axis] = 0;
    }
  }
}

}  // namespace backplane::reference
