// conv: 1x1 as a matrix product in place, depthwise directly, all else as an implicit matrix product whose packing
// reads the padded input; f64 and outputs without one spatial stride through plain loops.
#include "kernels/conv_depthwise.hpp"
#include "kernels/families.hpp"
#include "kernels/gemm.hpp"

namespace backplane_cpu {
namespace {

// y[m, position] = Σ w[m, (c, tap)] · x[c, position ⊕ tap], one Gemm item per group, one repeat per image.
class GemmConv final : public Kernel {
 public:
  GemmConv(const ConvPlan& plan, int64_t y_stride, bool pointwise, int64_t x_stride)
      : plan_(plan), y_stride_(y_stride), x_stride_(x_stride), pointwise_(pointwise) {
    const int64_t depth = plan.in_channels * plan.window.taps();
    gemm_ = Gemm({plan.out_channels, plan.window.out_count(), depth, plan.groups, plan.images, 1, 1});
    const Extents& k = plan.window.kernel;
    filter_rows_ =
        plan.w_tap[2] == 1 && plan.w_tap[1] == k[2] && plan.w_tap[0] == k[1] * k[2] && plan.w_in == plan.window.taps();
  }
  uint32_t phases() const override { return gemm_.phases(); }
  size_t scratch_bytes(uint32_t workers) const override { return gemm_.scratch_bytes(workers); }
  uint32_t max_workers() const override { return gemm_.max_workers(); }
  void run(const RunArgs& args) const noexcept override {
    gemm_.run(Source(*this, args), args.scratch, args.phase, args.worker, args.workers);
  }

 private:
  class Source final : public GemmSource {
   public:
    Source(const GemmConv& conv, const RunArgs& args) : conv_(conv), plan_(conv.plan_), args_(args) {}
    ConstMatrix a(int64_t group) const override {
      return {conv_.filter_rows_ ? filter(group, 0) : nullptr, plan_.w_out, 1};
    }
    void read_a(int64_t group, int64_t row, int64_t k0, int64_t count, float* out) const override {
      const float* w = filter(group, row);
      const int64_t taps = plan_.window.taps();
      for (int64_t k = k0; k < k0 + count; ++k) *out++ = w[k / taps * plan_.w_in + plan_.tap_offset(k % taps)];
    }
    GemmUnit unit(int64_t group, int64_t image) const override {
      GemmUnit unit;
      if (conv_.pointwise_) unit.b = {plane(image, group, 0), plan_.x_channel, conv_.x_stride_};
      unit.c = {output_data<float>(args_, 0) + image * plan_.y_image + group * plan_.out_channels * plan_.y_channel,
                plan_.y_channel, conv_.y_stride_};
      if (plan_.has_bias)
        unit.base = {input_data<float>(args_, 2) + group * plan_.out_channels * plan_.bias_stride, plan_.bias_stride,
                     0};
      unit.index[0] = image;
      unit.index[1] = group;
      return unit;
    }
    void read_b(const GemmUnit& unit, int64_t k, int64_t n0, int64_t count, float* out) const override {
      const int64_t taps = plan_.window.taps();
      read_tap(plan_.window, plane(unit.index[0], unit.index[1], k / taps), k % taps, n0, count, out);
    }

   private:
    const float* filter(int64_t group, int64_t row) const {
      return input_data<float>(args_, 1) + (group * plan_.out_channels + row) * plan_.w_out;
    }
    const float* plane(int64_t image, int64_t group, int64_t channel) const {
      return input_data<float>(args_, 0) + image * plan_.x_image +
             (group * plan_.in_channels + channel) * plan_.x_channel;
    }

    const GemmConv& conv_;
    const ConvPlan& plan_;
    const RunArgs& args_;
  };

  ConvPlan plan_;
  int64_t y_stride_, x_stride_;
  bool pointwise_;
  bool filter_rows_;  // the filters of an output channel lie densely
  Gemm gemm_;
};

template <class T>
class PlainConv final : public Kernel {
 public:
  explicit PlainConv(const ConvPlan& plan) : plan_(plan) {}
  uint32_t max_workers() const override { return worth_workers(plan_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const int64_t channels = plan_.groups * plan_.out_channels;
    const Range range = share(plan_.images * channels, 1, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end; ++index) run_plane(args, index / channels, index % channels);
  }

 private:
  void run_plane(const RunArgs& args, int64_t image, int64_t channel) const {
    const Window& window = plan_.window;
    const int64_t group = channel / plan_.out_channels;
    const T* x = input_data<T>(args, 0) + image * plan_.x_image + group * plan_.in_channels * plan_.x_channel;
    const T* w = input_data<T>(args, 1) + channel * plan_.w_out;
    T* y = output_data<T>(args, 0) + image * plan_.y_image + channel * plan_.y_channel;
    const T bias = plan_.has_bias ? input_data<T>(args, 2)[channel * plan_.bias_stride] : T{0};
    for (int64_t d = 0; d < window.out[0]; ++d)
      for (int64_t h = 0; h < window.out[1]; ++h)
        for (int64_t i = 0; i < window.out[2]; ++i)
          y[d * window.y_stride[0] + h * window.y_stride[1] + i * window.y_stride[2]] = bias + sum_at(x, w, {d, h, i});
  }
  T sum_at(const T* x, const T* w, const Extents& position) const {
    const Window& window = plan_.window;
    T sum = 0;
    for (int64_t tap = 0; tap < window.taps(); ++tap) {
      const Extents at{window.coordinate(0, position[0], tap / (window.kernel[1] * window.kernel[2])),
                       window.coordinate(1, position[1], tap / window.kernel[2] % window.kernel[1]),
                       window.coordinate(2, position[2], tap % window.kernel[2])};
      if (!window.inside(0, at[0]) || !window.inside(1, at[1]) || !window.inside(2, at[2])) continue;
      const T* source = x + at[0] * window.x_stride[0] + at[1] * window.x_stride[1] + at[2] * window.x_stride[2];
      const T* weight = w + plan_.tap_offset(tap);
      for (int64_t c = 0; c < plan_.in_channels; ++c) sum += source[c * plan_.x_channel] * weight[c * plan_.w_in];
    }
    return sum;
  }

  ConvPlan plan_;
};

bool touches_no_padding_and_one_tap(const Window& window) {
  if (window.taps() != 1) return false;
  for (int axis = 0; axis < 3; ++axis)
    if (window.stride[axis] != 1 || window.origin[axis] != 0 || window.in[axis] != window.out[axis]) return false;
  return true;
}

std::unique_ptr<Kernel> make_f32(const ConvPlan& plan, const Operand& x, const Operand& y) {
  if (plan.in_channels == 1 && plan.groups > 1 && plan.out_channels <= 4) return make_depthwise(plan);
  int64_t y_stride = 0, x_stride = 0;
  if (!y.collapses(2, y.rank(), y_stride)) return std::make_unique<PlainConv<float>>(plan);
  const bool pointwise = touches_no_padding_and_one_tap(plan.window) && x.collapses(2, x.rank(), x_stride);
  return std::make_unique<GemmConv>(plan, y_stride, pointwise, x_stride);
}

// Checks every shape and gathers the strides.
ConvPlan plan_conv(const NodeView& node, const Operand& x, const Operand& w, const Operand& bias, const Operand& y) {
  const uint32_t rank = spatial_rank(node, x);
  const SpatialAttrs attrs = read_spatial_attrs(node, rank);
  const int64_t groups = want_i64(node, BP_ATTR_GROUP, "group", 1, 1, INT32_MAX);
  want_rank(node, w, "w", rank + 2, rank + 2);
  const int64_t channels = w.shape[0];
  if (x.shape[1] % groups != 0 || channels % groups != 0)
    refuse_node(node, "wanted channels of x and w divisible by group " + std::to_string(groups) + ", found " +
                          std::to_string(x.shape[1]) + " and " + std::to_string(channels));
  const std::vector<int64_t> kernel(w.shape.begin() + 2, w.shape.end());
  std::vector<int64_t> w_shape{channels, x.shape[1] / groups}, y_shape{x.shape[0], channels};
  w_shape.insert(w_shape.end(), kernel.begin(), kernel.end());
  want_shape(node, w, "w", w_shape);
  if (const auto given = node.i64s(BP_ATTR_KERNEL_SHAPE); !given.empty())
    if (!std::equal(given.begin(), given.end(), kernel.begin(), kernel.end()))
      refuse_node(node, "kernel_shape differs from the spatial extents of w, " + list_text(w.shape));
  for (uint32_t axis = 0; axis < rank; ++axis) {
    if (kernel[axis] < 1 || kernel[axis] > INT32_MAX) refuse_node(node, "w has an empty kernel: " + list_text(w.shape));
    y_shape.push_back(window_count(x.shape[2 + axis], attrs.pads[axis], attrs.pads[rank + axis], kernel[axis],
                                   attrs.strides[axis], attrs.dilations[axis], false));
  }
  want_shape(node, y, "y", y_shape);
  want_shape(node, bias, "b", {channels});
  ConvPlan plan;
  plan.window = make_window(x, y, kernel, attrs);
  plan.images = x.shape[0];
  plan.groups = groups;
  plan.in_channels = x.shape[1] / groups;
  plan.out_channels = channels / groups;
  plan.x_image = x.stride(0), plan.x_channel = x.stride(1);
  plan.y_image = y.stride(0), plan.y_channel = y.stride(1);
  plan.w_out = w.stride(0), plan.w_in = w.strides[1];
  for (uint32_t axis = 0; axis < rank; ++axis) plan.w_tap[3 - rank + axis] = w.strides[2 + axis];
  if (rank < 2) plan.w_tap[1] = plan.w_tap[2] * kernel[rank - 1];
  if (rank < 3) plan.w_tap[0] = plan.w_tap[1] * plan.window.kernel[1];
  plan.has_bias = bias.present();
  plan.bias_stride = bias.present() ? bias.stride(0) : 0;
  return plan;
}

}  // namespace

Prepared prepare_conv(const NodeView& node) {
  return refuse_on_error([&]() -> Prepared {
    want_counts(node, 3, 1);
    want_attrs(node, {BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_GROUP, BP_ATTR_KERNEL_SHAPE});
    const Operand x = input_operand(node, 0, "x"), w = input_operand(node, 1, "w");
    const Operand bias = input_operand(node, 2, "b", true), y = output_operand(node, 0, "y");
    want_float(node, x, "x");
    want_type(node, w, "w", x.dtype);
    want_type(node, bias, "b", x.dtype);
    want_type(node, y, "y", x.dtype);
    const ConvPlan plan = plan_conv(node, x, w, bias, y);
    if (x.dtype == BP_TYPE_F64) return {std::make_unique<PlainConv<double>>(plan), {}, 0};
    return {make_f32(plan, x, y), {}, 0};
  });
}

}  // namespace backplane_cpu
