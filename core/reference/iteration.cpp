#include "iteration.hpp"

namespace backplane::reference {

int64_t product(std::span<const int64_t> extents) {
  uint64_t count = 1;  // unsigned: beside an extent of 0 the others may be anything
  for (const int64_t extent : extents) count *= static_cast<uint64_t>(extent);
  return static_cast<int64_t>(count);
}

Shape element_strides(std::span<const int64_t> shape) {
  Shape strides(shape.size());
  uint64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape[axis]);
  }
  return strides;
}

Shape broadcast_strides(std::span<const int64_t> from, std::span<const int64_t> to) {
  const Shape dense = element_strides(from);
  const size_t missing = to.size() - from.size();
  Shape strides(to.size(), 0);
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1) strides[missing + axis] = dense[axis];
  return strides;
}

AxisSplit split_at(std::span<const int64_t> shape, int64_t axis) {
  const auto at = static_cast<size_t>(axis);
  return {product(shape.first(at)), shape[at], product(shape.subspan(at + 1))};
}

}  // namespace backplane::reference
