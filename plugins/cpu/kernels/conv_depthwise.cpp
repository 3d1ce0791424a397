#include "kernels/conv_depthwise.hpp"

#include <hwy/highway.h>

#include "kernels/conv_band.hpp"

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);

struct Taps {
  const float* weights;
  const int64_t* offsets;
  int64_t count;
};

template <int kVectors>
void accumulate(const Taps& taps, const float* x, float bias, V (&sums)[kVectors]) {
  const D d;
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Set(d, bias);
  for (int64_t t = 0; t < taps.count; ++t) {
    const V weight = hn::Set(d, taps.weights[t]);
    const float* source = x + taps.offsets[t];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[v] = hn::MulAdd(weight, hn::LoadU(d, source + v * kLanes), sums[v]);
  }
}

void convolve_row(const Taps& taps, const float* x, float bias, int64_t count, float* y, int64_t y_stride) {
  const D d;
  constexpr int kWide = 6;
  int64_t j = 0;
  if (y_stride == 1) {
    for (; j + kWide * kLanes <= count; j += kWide * kLanes) {
      V sums[kWide];
      accumulate<kWide>(taps, x + j, bias, sums);
#pragma GCC unroll 8
      for (int v = 0; v < kWide; ++v) hn::StoreU(sums[v], d, y + j + v * kLanes);
    }
    for (; j + 2 * kLanes <= count; j += 2 * kLanes) {
      V sums[2];
      accumulate<2>(taps, x + j, bias, sums);
      hn::StoreU(sums[0], d, y + j);
      hn::StoreU(sums[1], d, y + j + kLanes);
    }
  }
  for (; j < count; j += kLanes) {
    V sums[1];
    accumulate<1>(taps, x + j, bias, sums);
    alignas(64) float buffer[kLanes];
    hn::Store(sums[0], d, buffer);
    for (int64_t i = 0; i < std::min(kLanes, count - j); ++i) y[(j + i) * y_stride] = buffer[i];
  }
}

class DepthwiseKernel final : public Kernel {
 public:
  explicit DepthwiseKernel(const ConvPlan& plan) : plan_(plan), band_(plan.window, kLanes) {}
  size_t scratch_bytes(uint32_t workers) const override { return workers * worker_floats() * sizeof(float); }
  uint32_t max_workers() const override { return worth_workers(plan_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const int64_t channels = plan_.groups * plan_.out_channels;
    const int64_t depths = plan_.window.out[0];
    float* weights = reinterpret_cast<float*>(args.scratch) + args.worker * worker_floats();
    const Range range = share(plan_.images * channels * depths * band_.bands(), 1, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end; ++index) {
      const int64_t band = index % band_.bands();
      const int64_t depth = index / band_.bands() % depths;
      const int64_t plane = index / band_.bands() / depths;
      run_band(args, plane / channels, plane % channels, depth, band * band_.rows(), weights);
    }
  }

 private:
  size_t worker_floats() const { return (static_cast<size_t>(plan_.window.taps()) + band_.floats() + 31) / 16 * 16; }

  void run_band(const RunArgs& args, int64_t image, int64_t channel, int64_t depth, int64_t row, float* weights) const {
    const Window& window = plan_.window;
    const float* w = input_data<float>(args, 1) + channel / plan_.out_channels * plan_.out_channels * plan_.w_out +
                     channel % plan_.out_channels * plan_.w_out;
    for (int64_t tap = 0; tap < window.taps(); ++tap) weights[tap] = w[plan_.tap_offset(tap)];
    const float bias = plan_.has_bias ? input_data<float>(args, 2)[channel * plan_.bias_stride] : 0;
    const float* x =
        input_data<float>(args, 0) + image * plan_.x_image + channel / plan_.out_channels * plan_.x_channel;
    float* buffer = weights + window.taps();
    const int64_t count = std::min(band_.rows(), window.out[1] - row);
    band_.fill(x, depth, row, count, 0, buffer);
    float* y = output_data<float>(args, 0) + image * plan_.y_image + channel * plan_.y_channel +
               depth * window.y_stride[0] + row * window.y_stride[1];
    const Taps taps{weights, band_.tap_offsets().data(), window.taps()};
    for (int64_t i = 0; i < count; ++i)
      convolve_row(taps, buffer + i * band_.row_step(), bias, window.out[2], y + i * window.y_stride[1],
                   window.y_stride[2]);
  }

  ConvPlan plan_;
  Band band_;
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise(const ConvPlan& plan) { return std::make_unique<DepthwiseKernel>(plan); }

}  // namespace backplane_cpu
