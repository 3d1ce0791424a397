// conv_transpose: the outputs of one residue modulo the strides form an ordinary convolution over the taps that reach
// them, so each residue is one implicit matrix product that writes every output once, without atomics or buffers.
// f64 and huge strides go through plain loops.
#include <numeric>

#include "kernels/conv_window.hpp"
#include "kernels/families.hpp"
#include "kernels/gemm.hpp"

namespace backplane_cpu {
namespace {

struct TransposePlan {
  Window window;  // of the forward direction: `in` is x, `out` is y, origin is -pad
  int64_t images = 0, groups = 1;
  int64_t in_channels = 0, out_channels = 0;  // per group
  int64_t x_image = 0, x_channel = 0, y_image = 0, y_channel = 0;
  int64_t w_in = 0, w_out = 0;  // filter strides
  Extents w_tap{0, 0, 0};
  int64_t bias_stride = 0;
  bool has_bias = false;

  int64_t operations() const {
    return images * groups * out_channels * in_channels * window.in[0] * window.in[1] * window.in[2] * window.taps();
  }
};

// The outputs residue + stride·q of every axis and the taps first_tap + j·tap_step that reach them.
struct Residue {
  Window window;  // over q and j; y_stride steps q
  Extents first_tap{0, 0, 0}, tap_step{1, 1, 1};
  int64_t y_offset = 0;
  int64_t run = 0;  // outputs that lie at one stride: columns of a product
  int64_t run_stride = 0;
};

void set_axis(const TransposePlan& plan, int axis, int64_t residue, Residue& out) {
  const Window& w = plan.window;
  const int64_t stride = w.stride[axis], dilation = w.dilation[axis], shifted = residue - w.origin[axis];
  out.window.in[axis] = w.in[axis];
  out.window.x_stride[axis] = w.x_stride[axis];
  out.window.out[axis] = residue < w.out[axis] ? (w.out[axis] - residue + stride - 1) / stride : 0;
  out.window.y_stride[axis] = w.y_stride[axis] * stride;
  out.y_offset += residue * w.y_stride[axis];
  const int64_t step = stride / std::gcd(stride, dilation);
  int64_t tap = 0;
  while (tap < std::min(step, w.kernel[axis]) && (shifted - tap * dilation) % stride != 0) ++tap;
  const bool reached = tap < std::min(step, w.kernel[axis]);
  out.first_tap[axis] = tap;
  out.tap_step[axis] = step;
  out.window.kernel[axis] = reached ? (w.kernel[axis] - tap + step - 1) / step : 0;
  out.window.origin[axis] = reached ? (shifted - tap * dilation) / stride : 0;
  out.window.dilation[axis] = -(step * dilation / stride);
}

// As many inner axes as lie at one stride become one run.
void set_run(Residue& residue) {
  const Window& w = residue.window;
  residue.run = 1;
  residue.run_stride = 0;
  for (int axis = 2; axis >= 0; --axis) {
    if (w.out[axis] != 1 && residue.run != 1 && w.y_stride[axis] != residue.run * residue.run_stride) return;
    if (residue.run == 1) residue.run_stride = w.y_stride[axis];
    residue.run *= w.out[axis];
  }
}

class GemmTranspose final : public Kernel {
 public:
  explicit GemmTranspose(const TransposePlan& plan) : plan_(plan) {
    const Extents& s = plan.window.stride;
    for (int64_t d = 0; d < s[0]; ++d)
      for (int64_t h = 0; h < s[1]; ++h)
        for (int64_t w = 0; w < s[2]; ++w) add_residue({d, h, w});
  }
  uint32_t phases() const override { return std::max(phases_, 1u); }
  uint32_t max_workers() const override { return worth_workers(plan_.operations()); }
  size_t scratch_bytes(uint32_t workers) const override {
    size_t bytes = 0;
    for (const Gemm& gemm : gemms_) bytes = std::max(bytes, gemm.scratch_bytes(workers));
    return bytes;
  }
  void run(const RunArgs& args) const noexcept override {
    uint32_t phase = args.phase;
    for (size_t i = 0; i < gemms_.size(); ++i) {
      if (phase < gemms_[i].phases()) {
        gemms_[i].run(Source(plan_, residues_[i], args), args.scratch, phase, args.worker, args.workers);
        return;
      }
      phase -= gemms_[i].phases();
    }
  }

 private:
  class Source final : public GemmSource {
   public:
    Source(const TransposePlan& plan, const Residue& residue, const RunArgs& args)
        : plan_(plan), residue_(residue), args_(args), rows_(residue.window.out_count() / residue.run) {}
    ConstMatrix a(int64_t group) const override {
      return {residue_.window.taps() == 1 ? filter(group, 0, 0) : nullptr, plan_.w_out, plan_.w_in};
    }
    void read_a(int64_t group, int64_t row, int64_t k0, int64_t count, float* out) const override {
      const int64_t taps = residue_.window.taps();
      for (int64_t k = k0; k < k0 + count; ++k) *out++ = filter(group, row, k % taps)[k / taps * plan_.w_in];
    }
    GemmUnit unit(int64_t group, int64_t repeat) const override {
      const Window& window = residue_.window;
      const int64_t image = repeat / rows_, first = repeat % rows_ * residue_.run;
      GemmUnit unit;
      unit.c = {output_data<float>(args_, 0) + image * plan_.y_image + group * plan_.out_channels * plan_.y_channel +
                    residue_.y_offset + first / (window.out[1] * window.out[2]) * window.y_stride[0] +
                    first / window.out[2] % window.out[1] * window.y_stride[1] +
                    first % window.out[2] * window.y_stride[2],
                plan_.y_channel, residue_.run_stride};
      if (plan_.has_bias)
        unit.base = {input_data<float>(args_, 2) + group * plan_.out_channels * plan_.bias_stride, plan_.bias_stride,
                     0};
      unit.index[0] = image * plan_.groups + group;
      unit.index[1] = first;
      return unit;
    }
    void read_b(const GemmUnit& unit, int64_t k, int64_t n0, int64_t count, float* out) const override {
      const int64_t taps = residue_.window.taps();
      const int64_t image = unit.index[0] / plan_.groups, group = unit.index[0] % plan_.groups;
      const float* plane = input_data<float>(args_, 0) + image * plan_.x_image +
                           (group * plan_.in_channels + k / taps) * plan_.x_channel;
      read_tap(residue_.window, plane, k % taps, unit.index[1] + n0, count, out);
    }

   private:
    const float* filter(int64_t group, int64_t row, int64_t tap) const {
      const Extents& count = residue_.window.kernel;
      const Extents at{tap / (count[1] * count[2]), tap / count[2] % count[1], tap % count[2]};
      int64_t offset = group * plan_.in_channels * plan_.w_in + row * plan_.w_out;
      for (int axis = 0; axis < 3; ++axis)
        offset += (residue_.first_tap[axis] + at[axis] * residue_.tap_step[axis]) * plan_.w_tap[axis];
      return input_data<float>(args_, 1) + offset;
    }

    const TransposePlan& plan_;
    const Residue& residue_;
    const RunArgs& args_;
    int64_t rows_;
  };

  void add_residue(const Extents& at) {
    Residue residue;
    for (int axis = 0; axis < 3; ++axis) set_axis(plan_, axis, at[axis], residue);
    const int64_t outputs = residue.window.out_count();
    if (outputs == 0) return;
    set_run(residue);
    gemms_.emplace_back(GemmShape{plan_.out_channels, residue.run, plan_.in_channels * residue.window.taps(),
                                  plan_.groups, plan_.images * (outputs / residue.run), 1, 1});
    residues_.push_back(residue);
    phases_ += gemms_.back().phases();
  }

  TransposePlan plan_;
  std::vector<Residue> residues_;
  std::vector<Gemm> gemms_;
  uint32_t phases_ = 0;
};

template <class T>
class PlainTranspose final : public Kernel {
 public:
  explicit PlainTranspose(const TransposePlan& plan) : plan_(plan) {}
  uint32_t max_workers() const override { return worth_workers(plan_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const int64_t channels = plan_.groups * plan_.out_channels;
    const Window& window = plan_.window;
    const Range range = share(plan_.images * channels, 1, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end; ++index)
      for (int64_t d = 0; d < window.out[0]; ++d)
        for (int64_t h = 0; h < window.out[1]; ++h)
          for (int64_t w = 0; w < window.out[2]; ++w) run_output(args, index / channels, index % channels, {d, h, w});
  }

 private:
  // The input coordinate that tap `tap` carries to output `at`, or -1.
  int64_t source(int axis, int64_t at, int64_t tap) const {
    const Window& w = plan_.window;
    const int64_t scaled = at - w.origin[axis] - tap * w.dilation[axis];
    if (scaled < 0 || scaled % w.stride[axis] != 0) return -1;
    return scaled / w.stride[axis] < w.in[axis] ? scaled / w.stride[axis] : -1;
  }
  void run_output(const RunArgs& args, int64_t image, int64_t channel, const Extents& at) const {
    const Window& w = plan_.window;
    const int64_t group = channel / plan_.out_channels;
    const T* x = input_data<T>(args, 0) + image * plan_.x_image + group * plan_.in_channels * plan_.x_channel;
    const T* filter =
        input_data<T>(args, 1) + group * plan_.in_channels * plan_.w_in + channel % plan_.out_channels * plan_.w_out;
    T sum = plan_.has_bias ? input_data<T>(args, 2)[channel * plan_.bias_stride] : T{0};
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const Extents t{tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]};
      const Extents from{source(0, at[0], t[0]), source(1, at[1], t[1]), source(2, at[2], t[2])};
      if (from[0] < 0 || from[1] < 0 || from[2] < 0) continue;
      const T* value = x + from[0] * w.x_stride[0] + from[1] * w.x_stride[1] + from[2] * w.x_stride[2];
      const T* weight = filter + t[0] * plan_.w_tap[0] + t[1] * plan_.w_tap[1] + t[2] * plan_.w_tap[2];
      for (int64_t c = 0; c < plan_.in_channels; ++c) sum += value[c * plan_.x_channel] * weight[c * plan_.w_in];
    }
    output_data<T>(args, 0)[image * plan_.y_image + channel * plan_.y_channel + at[0] * w.y_stride[0] +
                            at[1] * w.y_stride[1] + at[2] * w.y_stride[2]] = sum;
  }

  TransposePlan plan_;
};

void want_output(const NodeView& node, const Operand& x, const Operand& y, const std::vector<int64_t>& kernel,
                 const SpatialAttrs& attrs, int64_t channels) {
  const size_t rank = kernel.size();
  const auto padding = read_list(node, BP_ATTR_OUTPUT_PADDING, "output_padding", rank, 0, 0);
  std::vector<int64_t> shape{x.shape[0], channels};
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t full =
        attrs.strides[axis] * (x.shape[2 + axis] - 1) + padding[axis] + attrs.dilations[axis] * (kernel[axis] - 1) + 1;
    shape.push_back(std::max<int64_t>(full - attrs.pads[axis] - attrs.pads[rank + axis], 0));
  }
  want_shape(node, y, "y", shape);
}

TransposePlan plan_transpose(const NodeView& node, const Operand& x, const Operand& w, const Operand& bias,
                             const Operand& y) {
  const uint32_t rank = spatial_rank(node, x);
  const SpatialAttrs attrs = read_spatial_attrs(node, rank);
  const int64_t groups = want_i64(node, BP_ATTR_GROUP, "group", 1, 1, INT32_MAX);
  want_rank(node, w, "w", rank + 2, rank + 2);
  if (x.shape[1] % groups != 0 || w.shape[0] != x.shape[1])
    refuse_node(node, "wanted w's first extent equal to x's channels and divisible by group " + std::to_string(groups) +
                          ", found w " + list_text(w.shape) + " and x " + list_text(x.shape));
  const std::vector<int64_t> kernel(w.shape.begin() + 2, w.shape.end());
  for (const int64_t extent : kernel)
    if (extent < 1 || extent > INT32_MAX) refuse_node(node, "w has an empty kernel: " + list_text(w.shape));
  if (const auto given = node.i64s(BP_ATTR_KERNEL_SHAPE); !given.empty())
    if (!std::equal(given.begin(), given.end(), kernel.begin(), kernel.end()))
      refuse_node(node, "kernel_shape differs from the spatial extents of w, " + list_text(w.shape));
  const int64_t channels = w.shape[1] * groups;
  want_output(node, x, y, kernel, attrs, channels);
  want_shape(node, bias, "b", {channels});
  TransposePlan plan;
  plan.window = make_window(x, y, kernel, attrs);
  plan.images = x.shape[0];
  plan.groups = groups;
  plan.in_channels = x.shape[1] / groups;
  plan.out_channels = w.shape[1];
  plan.x_image = x.stride(0), plan.x_channel = x.stride(1);
  plan.y_image = y.stride(0), plan.y_channel = y.stride(1);
  plan.w_in = w.stride(0), plan.w_out = w.stride(1);
  for (uint32_t axis = 0; axis < rank; ++axis) plan.w_tap[3 - rank + axis] = w.stride(2 + axis);
  plan.has_bias = bias.present();
  plan.bias_stride = bias.present() ? bias.stride(0) : 0;
  return plan;
}

}  // namespace

Prepared prepare_conv_transpose(const NodeView& node) {
  return refuse_on_error([&]() -> Prepared {
    want_counts(node, 3, 1);
    want_attrs(node, {BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_GROUP, BP_ATTR_KERNEL_SHAPE,
                      BP_ATTR_OUTPUT_PADDING});
    const Operand x = input_operand(node, 0, "x"), w = input_operand(node, 1, "w");
    const Operand bias = input_operand(node, 2, "b", true), y = output_operand(node, 0, "y");
    want_float(node, x, "x");
    want_type(node, w, "w", x.dtype);
    want_type(node, bias, "b", x.dtype);
    want_type(node, y, "y", x.dtype);
    const TransposePlan plan = plan_transpose(node, x, w, bias, y);
    constexpr int64_t kMaxResidues = 256;  // each costs two barriers
    const Extents& s = plan.window.stride;
    if (x.dtype == BP_TYPE_F64) return {std::make_unique<PlainTranspose<double>>(plan), {}, 0};
    if (s[0] > kMaxResidues || s[1] > kMaxResidues || s[2] > kMaxResidues || s[0] * s[1] * s[2] > kMaxResidues)
      return {std::make_unique<PlainTranspose<float>>(plan), {}, 0};
    return {std::make_unique<GemmTranspose>(plan), {}, 0};
  });
}

}  // namespace backplane_cpu
