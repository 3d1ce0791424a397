#include "kernels/conv_band.hpp"

namespace backplane_cpu {
namespace {

constexpr int64_t kBandFloats = 5 * 1024;  // of an L1 of 32 KiB

}  // namespace

Band::Band(const Window& window, int64_t lanes) : window_(window) {
  const int64_t stride = window.stride[2];
  const int64_t reach = (window.kernel[2] - 1) * window.dilation[2];
  part_ = (window.out[2] + lanes - 1) / lanes * lanes + reach / stride + 1;
  pitch_ = std::min(stride, reach + 1) * part_;  // parts that no tap reads are left out
  rows_ = 1;
  while (rows_ < window.out[1] && window.kernel[0] * input_rows(rows_ + 1) * pitch_ <= kBandFloats) ++rows_;
  plane_ = input_rows(rows_) * pitch_;
  for (int64_t d = 0; d < window.kernel[0]; ++d)
    for (int64_t h = 0; h < window.kernel[1]; ++h)
      for (int64_t w = 0; w < window.kernel[2]; ++w) {
        const int64_t column = w * window.dilation[2];
        tap_offsets_.push_back(d * plane_ + h * window.dilation[1] * pitch_ + column % stride * part_ +
                               column / stride);
      }
}

void Band::fill(const float* plane, int64_t depth, int64_t row, int64_t count, float pad, float* buffer) const {
  const Window& w = window_;
  for (int64_t tap = 0; tap < w.kernel[0]; ++tap) {
    const int64_t at_d = w.coordinate(0, depth, tap);
    float* out = buffer + tap * plane_;
    for (int64_t i = 0; i < input_rows(count); ++i) {
      const int64_t at_h = row * w.stride[1] + w.origin[1] + i;
      const bool inside = w.inside(0, at_d) && w.inside(1, at_h);
      const float* source = inside ? plane + at_d * w.x_stride[0] + at_h * w.x_stride[1] : plane;
      for (int64_t part = 0; part * part_ < pitch_; ++part, out += part_)
        read_padded(source, w.x_stride[2], inside ? w.in[2] : 0, w.origin[2] + part, w.stride[2], part_, pad, out);
    }
  }
}

}  // namespace backplane_cpu
