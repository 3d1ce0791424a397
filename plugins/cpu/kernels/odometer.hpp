// Odometer: byte offsets of consecutive elements, in logical order, under any strides. Cheaper than a division an
// axis and element. Thread safety: as a value.
#pragma once

#include <array>
#include <span>

#include "kernels/walk.hpp"

namespace backplane_cpu {

class Odometer {
 public:
  // Stands at the index-th element of `shape`, of rank kMaxRank at most. `shape` and `strides` outlive it.
  // REQUIRES: 0 <= index < the number of elements, or there are none.
  Odometer(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t index)
      : shape_(shape), strides_(strides) {
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (shape[axis] == 0) return;
      at_[axis] = index % shape[axis];
      index /= shape[axis];
      offset_ += at_[axis] * strides[axis];
    }
  }
  int64_t offset() const { return offset_; }
  void next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++at_[axis] < shape_[axis]) return;
      offset_ -= at_[axis] * strides_[axis];
      at_[axis] = 0;
    }
  }

 private:
  std::span<const int64_t> shape_, strides_;
  std::array<int64_t, kMaxRank> at_{};
  int64_t offset_ = 0;
};

}  // namespace backplane_cpu
