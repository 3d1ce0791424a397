// Tuples: indices into the leading axes of a tensor, after batch axes that it shares with them; for gather_nd and
// scatter_nd. Thread safety: immutable.
#pragma once

#include <vector>

#include "kernels/elementwise.hpp"

namespace backplane_cpu {

class Tuples {
 public:
  // check_tuples has passed. Tuples stand along the last axis of `indices`.
  Tuples(const TensorView& x, const TensorView& indices, uint32_t batch_dims);
  int64_t count() const { return count_; }
  // The axes of x behind those that a tuple fixes.
  const Walk& block() const { return block_; }
  // Bytes from x's first element to that of a tuple's block; -1 if an index lies outside its axis.
  int64_t offset(const std::byte* indices, int64_t tuple) const;

 private:
  ChunkReader reader_;
  Walk batch_, block_;
  std::vector<int64_t> extents_, strides_;  // of the axes that a tuple indexes
  int64_t count_ = 1;
  int64_t per_batch_ = 1;
};

}  // namespace backplane_cpu
