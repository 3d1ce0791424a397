// Band: some padded rows of one channel, laid out so that every tap of a window reads unit-stride vectors.
//
// Depthwise convolutions and pools copy the input rows that a few output rows need, padding included, into a buffer
// that stays in L1. A horizontal stride s splits each row into s rows of every s-th element. Tap t of output (row, j)
// is then buffer[row·row_step + tap_offsets[t] + j], and up to `lanes` elements past the last are readable.
// Thread safety: const after construction; buffers are the callers'.
#pragma once

#include "kernels/conv_window.hpp"

namespace backplane_cpu {

class Band {
 public:
  Band(const Window& window, int64_t lanes);

  size_t floats() const { return static_cast<size_t>(window_.kernel[0] * plane_); }
  int64_t rows() const { return rows_; }  // output rows per band
  int64_t bands() const { return (window_.out[1] + rows_ - 1) / rows_; }
  int64_t row_step() const { return window_.stride[1] * pitch_; }
  const std::vector<int64_t>& tap_offsets() const { return tap_offsets_; }
  // Fills the buffer for output rows [row, row + count) at depth `depth`.
  void fill(const float* plane, int64_t depth, int64_t row, int64_t count, float pad, float* buffer) const;

 private:
  int64_t input_rows(int64_t count) const {
    return (count - 1) * window_.stride[1] + (window_.kernel[1] - 1) * window_.dilation[1] + 1;
  }

  Window window_;
  int64_t part_;   // floats of every s-th element of a row
  int64_t pitch_;  // floats of a row
  int64_t plane_;  // floats of the rows of one depth tap
  int64_t rows_;
  std::vector<int64_t> tap_offsets_;
};

}  // namespace backplane_cpu
