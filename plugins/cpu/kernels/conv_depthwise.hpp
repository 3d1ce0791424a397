// Depthwise convolution in f32: every output channel reads one input channel. Internal to conv.cpp.
#pragma once

#include "kernels/conv_window.hpp"

namespace backplane_cpu {

// What conv.cpp knows about a convolution; strides in elements.
struct ConvPlan {
  Window window;
  int64_t images = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // per group
  int64_t x_image = 0, x_channel = 0, y_image = 0, y_channel = 0;
  int64_t w_out = 0, w_in = 0;  // filter strides of output and input channels
  Extents w_tap{0, 0, 0};
  int64_t bias_stride = 0;
  bool has_bias = false;

  int64_t operations() const {
    return images * groups * out_channels * in_channels * window.out_count() * window.taps();
  }
  int64_t tap_offset(int64_t tap) const {
    const Extents& k = window.kernel;
    return tap / (k[1] * k[2]) * w_tap[0] + tap / k[2] % k[1] * w_tap[1] + tap % k[2] * w_tap[2];
  }
};

// REQUIRES: plan.in_channels = 1.
std::unique_ptr<Kernel> make_depthwise(const ConvPlan& plan);

}  // namespace backplane_cpu
