// Walk: the elements of a strided tensor in logical order, and moving runs of them from and to dense memory.
//
// Axes are collapsed where memory allows, so a dense tensor is a walk of one axis. Strides are in bytes and may be
// zero (broadcast) or negative (reverse). Thread safety: immutable after it is made.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/kernel.hpp"

namespace backplane_cpu {

inline constexpr uint32_t kMaxRank = 12;            // of a tensor
inline constexpr uint32_t kMaxAxes = 2 * kMaxRank;  // of a walk: tile splits each axis in two

// Extents in elements; along the last axis of a block-quantised tensor in blocks, which are moved as if they were
// elements.
std::vector<int64_t> unit_extents(const TensorView& tensor);

class Walk {
 public:
  Walk() = default;
  // `element` is the bytes of one element or block. At most kMaxAxes axes.
  Walk(std::span<const int64_t> shape, std::span<const int64_t> strides, size_t element);
  explicit Walk(const TensorView& tensor);
  // The tensor repeated along axes of extent 1, and along new outer axes, to fill `shape`. Throws a refusal if it
  // does not broadcast.
  static Walk broadcast(const TensorView& tensor, std::span<const int64_t> shape);

  int64_t count() const { return count_; }
  size_t element() const { return element_; }
  bool dense() const { return dense_; }
  bool constant() const { return constant_; }  // every element is the same one in memory

  // Bytes from element 0 to the index-th element. REQUIRES: 0 <= index < count().
  int64_t position(int64_t index) const;
  // Copies the elements [begin, begin + count) to dense memory at `to`.
  void gather(const std::byte* base, int64_t begin, int64_t count, std::byte* to) const;
  // Copies dense memory at `from` to the elements [begin, begin + count).
  void scatter(const std::byte* from, int64_t begin, int64_t count, std::byte* base) const;

 private:
  template <class Visit>
  void visit_runs(int64_t begin, int64_t count, const Visit& visit) const;

  std::array<int64_t, kMaxAxes> extent_{};
  std::array<int64_t, kMaxAxes> stride_{};
  uint32_t rank_ = 0;  // at least 1 unless default-made
  int64_t count_ = 0;
  size_t element_ = 1;
  bool dense_ = true;
  bool constant_ = false;
};

// Copies the elements [begin, end) of one walk to the same places of another. Both have one element size and count.
void copy_elements(const Walk& from_walk, const std::byte* from, const Walk& to_walk, std::byte* to, int64_t begin,
                   int64_t end);

}  // namespace backplane_cpu
