// max_pool and average_pool: f32 with outputs at least a few columns wide through padded bands and vectors; f64,
// indices and narrow outputs (global pools) through loops over the part of the window that lies inside.
#include <hwy/highway.h>

#include <limits>

#include "kernels/conv_band.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kNarrow = 4;  // columns

struct PoolPlan {
  Window window;
  int64_t images = 0, channels = 0;
  int64_t x_image = 0, x_channel = 0, y_image = 0, y_channel = 0, i_image = 0, i_channel = 0;
  Extents i_stride{0, 0, 0};
  bool max = false, column_major = false, has_indices = false;
  std::array<std::vector<int64_t>, 3> counts;  // average: taps that count, per axis and output position

  int64_t operations() const { return images * channels * window.out_count() * window.taps(); }
};

class BandPool final : public Kernel {
 public:
  explicit BandPool(PoolPlan plan) : plan_(std::move(plan)), band_(plan_.window, kLanes) {
    const auto& counts = plan_.counts[2];
    column_counts_.assign(counts.begin(), counts.end());
    column_counts_.resize(column_counts_.size() + kLanes, 1);
  }
  size_t scratch_bytes(uint32_t workers) const override { return workers * worker_floats() * sizeof(float); }
  uint32_t max_workers() const override { return worth_workers(plan_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const int64_t depths = plan_.window.out[0];
    float* buffer = reinterpret_cast<float*>(args.scratch) + args.worker * worker_floats();
    const Range range = share(plan_.images * plan_.channels * depths * band_.bands(), 1, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end; ++index) {
      const int64_t plane = index / band_.bands() / depths;
      run_band(args, plane / plan_.channels, plane % plan_.channels, index / band_.bands() % depths,
               index % band_.bands() * band_.rows(), buffer);
    }
  }

 private:
  size_t worker_floats() const { return (band_.floats() + 31) / 16 * 16; }

  void run_band(const RunArgs& args, int64_t image, int64_t channel, int64_t depth, int64_t row, float* buffer) const {
    const Window& window = plan_.window;
    const int64_t count = std::min(band_.rows(), window.out[1] - row);
    const float* x = input_data<float>(args, 0) + image * plan_.x_image + channel * plan_.x_channel;
    band_.fill(x, depth, row, count, plan_.max ? -std::numeric_limits<float>::infinity() : 0, buffer);
    float* y =
        output_data<float>(args, 0) + image * plan_.y_image + channel * plan_.y_channel + depth * window.y_stride[0];
    for (int64_t i = 0; i < count; ++i) {
      const float outer = plan_.max ? 1 : static_cast<float>(plan_.counts[0][depth] * plan_.counts[1][row + i]);
      pool_row(buffer + i * band_.row_step(), outer, y + (row + i) * window.y_stride[1]);
    }
  }
  void pool_row(const float* x, float outer, float* y) const {
    const D d;
    const int64_t count = plan_.window.out[2], y_stride = plan_.window.y_stride[2];
    for (int64_t j = 0; j < count; j += kLanes) {
      const V pooled = plan_.max ? max_of(x + j)
                                 : hn::Div(sum_of(x + j), hn::Mul(hn::Set(d, outer), hn::LoadU(d, &column_counts_[j])));
      if (y_stride == 1 && j + kLanes <= count) {
        hn::StoreU(pooled, d, y + j);
        continue;
      }
      alignas(64) float buffer[kLanes];
      hn::Store(pooled, d, buffer);
      for (int64_t i = 0; i < std::min(kLanes, count - j); ++i) y[(j + i) * y_stride] = buffer[i];
    }
  }
  // NaN wins, as it does in the op max.
  V max_of(const float* x) const {
    const D d;
    V best = hn::LoadU(d, x + band_.tap_offsets()[0]);
    for (const int64_t offset : band_.tap_offsets()) {
      const V value = hn::LoadU(d, x + offset);
      best = hn::IfThenElse(hn::Or(hn::Gt(value, best), hn::IsNaN(value)), value, best);
    }
    return best;
  }
  V sum_of(const float* x) const {
    const D d;
    V sum = hn::Zero(d);
    for (const int64_t offset : band_.tap_offsets()) sum = hn::Add(sum, hn::LoadU(d, x + offset));
    return sum;
  }

  PoolPlan plan_;
  Band band_;
  std::vector<float> column_counts_;
};

template <class T>
class PlainPool final : public Kernel {
 public:
  explicit PlainPool(PoolPlan plan) : plan_(std::move(plan)) {}
  uint32_t max_workers() const override { return worth_workers(plan_.operations()); }
  void run(const RunArgs& args) const noexcept override {
    const Window& window = plan_.window;
    const Range range = share(plan_.images * plan_.channels * window.out_count(), 1, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end; ++index) {
      const int64_t at = index % window.out_count(), plane = index / window.out_count();
      run_output(args, plane,
                 {at / (window.out[1] * window.out[2]), at / window.out[2] % window.out[1], at % window.out[2]});
    }
  }

 private:
  struct Best {
    T value = -std::numeric_limits<T>::infinity();
    int64_t index = -1;
  };

  // The taps of an axis that lie inside the input.
  Range inner_taps(int axis, int64_t position) const {
    const Window& w = plan_.window;
    const int64_t first = w.coordinate(axis, position, 0), step = w.dilation[axis];
    const int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
    const int64_t end = first < w.in[axis] ? (w.in[axis] - first + step - 1) / step : 0;
    return {std::min(begin, w.kernel[axis]), std::min(end, w.kernel[axis])};
  }
  int64_t flat_index(int64_t plane, int64_t d, int64_t h, int64_t w) const {
    const Extents& in = plan_.window.in;
    const int64_t at = plan_.column_major ? d + in[0] * (h + in[1] * w) : (d * in[1] + h) * in[2] + w;
    return plane * in[0] * in[1] * in[2] + at;
  }
  void run_output(const RunArgs& args, int64_t plane, const Extents& at) const {
    const Window& w = plan_.window;
    const int64_t image = plane / plan_.channels, channel = plane % plan_.channels;
    const T* x = input_data<T>(args, 0) + image * plan_.x_image + channel * plan_.x_channel;
    const Range taps_d = inner_taps(0, at[0]), taps_h = inner_taps(1, at[1]), taps_w = inner_taps(2, at[2]);
    Best best;
    T sum = 0;
    for (int64_t d = taps_d.begin; d < taps_d.end; ++d) {
      for (int64_t h = taps_h.begin; h < taps_h.end; ++h) {
        const int64_t at_d = w.coordinate(0, at[0], d), at_h = w.coordinate(1, at[1], h);
        const T* row = x + at_d * w.x_stride[0] + at_h * w.x_stride[1];
        if (plan_.max) {
          best_of(row, plane, {at_d, at_h, w.coordinate(2, at[2], taps_w.begin)}, taps_w.end - taps_w.begin, best);
        } else if (taps_w.end > taps_w.begin) {
          sum += sum_of(row + w.coordinate(2, at[2], taps_w.begin) * w.x_stride[2], w.dilation[2] * w.x_stride[2],
                        taps_w.end - taps_w.begin);
        }
      }
    }
    const int64_t y_at = at[0] * w.y_stride[0] + at[1] * w.y_stride[1] + at[2] * w.y_stride[2];
    output_data<T>(args, 0)[image * plan_.y_image + channel * plan_.y_channel + y_at] =
        plan_.max ? best.value
                  : sum / static_cast<T>(plan_.counts[0][at[0]] * plan_.counts[1][at[1]] * plan_.counts[2][at[2]]);
    if (plan_.has_indices && args.outputs[1] != nullptr)
      output_data<int64_t>(args, 1)[image * plan_.i_image + channel * plan_.i_channel + at[0] * plan_.i_stride[0] +
                                    at[1] * plan_.i_stride[1] + at[2] * plan_.i_stride[2]] = best.index;
  }
  void best_of(const T* row, int64_t plane, const Extents& from, int64_t count, Best& best) const {
    for (int64_t t = 0; t < count; ++t) {
      const int64_t w = from[2] + t * plan_.window.dilation[2];
      const T value = row[w * plan_.window.x_stride[2]];
      const bool better = best.index < 0 || value > best.value || (value != value && best.value == best.value);
      if (better) best = {value, flat_index(plane, from[0], from[1], w)};
    }
  }
  static T sum_of(const T* x, int64_t stride, int64_t count) {
    T sums[4] = {};  // four chains hide the latency of addition
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
      for (int64_t s = 0; s < 4; ++s) sums[s] += x[(i + s) * stride];
    for (; i < count; ++i) sums[0] += x[i * stride];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  PoolPlan plan_;
};

// How many taps of each output position enter the divisor: those inside the input, or inside input and pads.
std::vector<int64_t> divisor_counts(const Window& window, int axis, int64_t pad_end, bool include_pad) {
  const int64_t low = include_pad ? window.origin[axis] : 0;
  const int64_t high = window.in[axis] + (include_pad ? pad_end : 0);
  const int64_t step = window.dilation[axis];
  std::vector<int64_t> counts;
  for (int64_t o = 0; o < window.out[axis]; ++o) {
    const int64_t first = window.coordinate(axis, o, 0);
    const int64_t begin = first < low ? (low - first + step - 1) / step : 0;
    const int64_t end = first < high ? (high - first + step - 1) / step : 0;
    counts.push_back(std::max<int64_t>(std::min(end, window.kernel[axis]) - begin, 0));
  }
  return counts;
}

PoolPlan plan_pool(const NodeView& node, const Operand& x, const Operand& y, const Operand& indices) {
  const uint32_t rank = spatial_rank(node, x);
  const SpatialAttrs attrs = read_spatial_attrs(node, rank);
  if (node.i64s(BP_ATTR_KERNEL_SHAPE).empty()) refuse_node(node, "wanted the attribute kernel_shape, found none");
  const auto kernel = read_list(node, BP_ATTR_KERNEL_SHAPE, "kernel_shape", rank, 1, 1);
  const bool ceil = want_i64(node, BP_ATTR_CEIL_MODE, "ceil_mode", 0, 0, 1) != 0;
  std::vector<int64_t> shape{x.shape[0], x.shape[1]};
  for (uint32_t axis = 0; axis < rank; ++axis)
    shape.push_back(window_count(x.shape[2 + axis], attrs.pads[axis], attrs.pads[rank + axis], kernel[axis],
                                 attrs.strides[axis], attrs.dilations[axis], ceil));
  want_shape(node, y, "y", shape);
  want_shape(node, indices, "indices", shape);
  PoolPlan plan;
  plan.window = make_window(x, y, kernel, attrs);
  plan.images = x.shape[0], plan.channels = x.shape[1];
  plan.x_image = x.stride(0), plan.x_channel = x.stride(1);
  plan.y_image = y.stride(0), plan.y_channel = y.stride(1);
  plan.max = node.op() == BP_OP_MAX_POOL;
  plan.column_major = want_i64(node, BP_ATTR_STORAGE_ORDER, "storage_order", 0, 0, 1) != 0;
  plan.has_indices = indices.present();
  if (plan.has_indices) {
    plan.i_image = indices.stride(0), plan.i_channel = indices.stride(1);
    for (uint32_t axis = 0; axis < rank; ++axis) plan.i_stride[3 - rank + axis] = indices.stride(2 + axis);
  }
  const bool include_pad = want_i64(node, BP_ATTR_COUNT_INCLUDE_PAD, "count_include_pad", 0, 0, 1) != 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t spatial = axis - 3 + static_cast<int64_t>(rank);
    plan.counts[axis] = divisor_counts(plan.window, axis, spatial < 0 ? 0 : attrs.pads[rank + spatial], include_pad);
  }
  return plan;
}

}  // namespace

Prepared prepare_pool(const NodeView& node) {
  return refuse_on_error([&]() -> Prepared {
    const bool max = node.op() == BP_OP_MAX_POOL;
    want_counts(node, 1, max ? 2 : 1);
    want_attrs(node, {BP_ATTR_KERNEL_SHAPE, BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_CEIL_MODE,
                      max ? BP_ATTR_STORAGE_ORDER : BP_ATTR_COUNT_INCLUDE_PAD});
    const Operand x = input_operand(node, 0, "x"), y = output_operand(node, 0, "y");
    const Operand indices = output_operand(node, 1, "indices", true);
    want_float(node, x, "x");
    want_type(node, y, "y", x.dtype);
    want_type(node, indices, "indices", BP_TYPE_I64);
    PoolPlan plan = plan_pool(node, x, y, indices);
    if (x.dtype == BP_TYPE_F64) return {std::make_unique<PlainPool<double>>(std::move(plan)), {}, 0};
    if (plan.has_indices || plan.window.out[2] < kNarrow)
      return {std::make_unique<PlainPool<float>>(std::move(plan)), {}, 0};
    return {std::make_unique<BandPool>(std::move(plan)), {}, 0};
  });
}

}  // namespace backplane_cpu
