// batch_norm and the norms over rows: layer_norm, rms_norm, instance_norm, group_norm. f32 and f64, vectorised along
// rows; rows that are not dense are gathered into scratch first.
#include <hwy/highway.h>

#include <cmath>

#include "kernels/families.hpp"
#include "kernels/operand.hpp"

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr int64_t kLanes = HWY_LANES(T);

// Sums of x − centre, and of its square, over a row.
struct Sums {
  double plain = 0, squares = 0;
};

// Blocks in T, their totals in double, so that long rows lose nothing.
template <class T>
Sums sum_row(const T* x, int64_t count, T centre) {
  const hn::ScalableTag<T> d;
  constexpr int64_t kBlock = 64 * kLanes<T>;
  Sums sums;
  int64_t i = 0;
  const auto c = hn::Set(d, centre);
  while (i + 2 * kLanes<T> <= count) {
    const int64_t end = std::min(count, i + kBlock);
    auto plain = hn::Zero(d), more = hn::Zero(d), squares = hn::Zero(d), more_squares = hn::Zero(d);
    for (; i + 2 * kLanes<T> <= end; i += 2 * kLanes<T>) {
      const auto even = hn::Sub(hn::LoadU(d, x + i), c), odd = hn::Sub(hn::LoadU(d, x + i + kLanes<T>), c);
      plain = hn::Add(plain, even);
      more = hn::Add(more, odd);
      squares = hn::MulAdd(even, even, squares);
      more_squares = hn::MulAdd(odd, odd, more_squares);
    }
    sums.plain += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(plain, more))));
    sums.squares += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(squares, more_squares))));
  }
  for (; i < count; ++i) {
    const auto v = static_cast<double>(x[i] - centre);
    sums.plain += v;
    sums.squares += v * v;
  }
  return sums;
}

// A mean in two parts, as its rounding to T would be all that is left of rows that are nearly constant.
template <class T>
struct Mean {
  T rounded = 0, rest = 0;

  T centred(T x) const { return (x - rounded) - rest; }
  template <class D>
  auto centred(D d, hn::Vec<D> x) const {
    return hn::Sub(hn::Sub(x, hn::Set(d, rounded)), hn::Set(d, rest));
  }
};

// y = (x − mean)·factor + bias.
template <class T>
void scale_row(const T* x, int64_t count, Mean<T> mean, T factor, T bias, T* y) {
  const hn::ScalableTag<T> d;
  const auto f = hn::Set(d, factor), b = hn::Set(d, bias);
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>)
    hn::StoreU(hn::MulAdd(mean.centred(d, hn::LoadU(d, x + i)), f, b), d, y + i);
  for (; i < count; ++i) y[i] = mean.centred(x[i]) * factor + bias;
}

// y = (x − mean)·factor·scale + bias, element by element; a null bias is zero.
template <class T>
void scale_row_by(const T* x, int64_t count, Mean<T> mean, T factor, const T* scale, const T* bias, T* y) {
  const hn::ScalableTag<T> d;
  const auto f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes<T> <= count; i += kLanes<T>) {
    const auto normal = hn::Mul(mean.centred(d, hn::LoadU(d, x + i)), f);
    const auto b = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + i);
    hn::StoreU(hn::MulAdd(normal, hn::LoadU(d, scale + i), b), d, y + i);
  }
  for (; i < count; ++i) y[i] = mean.centred(x[i]) * factor * scale[i] + (bias == nullptr ? T{0} : bias[i]);
}

// The axes [first, rank) of a tensor as one row.
struct Row {
  Operand operand;
  uint32_t first = 0;
  int64_t count = 1;
  bool dense = false;

  Row() = default;
  Row(Operand from, uint32_t first_axis) : operand(std::move(from)), first(first_axis) {
    for (uint32_t axis = first; axis < operand.rank(); ++axis) count *= operand.shape[axis];
    int64_t stride = 0;
    dense = operand.collapses(first, operand.rank(), stride) && (stride == 1 || count <= 1);
  }
  int64_t start(int64_t index) const { return offset_of(operand, 0, first, index); }
  // Calls visit(element offset, position in the row) for every element.
  template <class Visit>
  void each(Visit&& visit) const {
    const bool scalar = first == operand.rank();
    const int64_t inner = scalar ? 1 : operand.shape.back(), stride = scalar ? 0 : operand.strides.back();
    for (int64_t i = 0; i < count; i += inner) {
      const int64_t base = scalar ? 0 : offset_of(operand, first, operand.rank() - 1, i / inner);
      for (int64_t j = 0; j < inner; ++j) visit(base + j * stride, i + j);
    }
  }
};

// Scratch of one worker: one gathered row.
size_t row_bytes(int64_t count, size_t element) { return (static_cast<size_t>(count) * element + 63) / 64 * 64; }

// Where to compute a row of y, and the row of x as dense memory. y's place may be x's gathered row.
template <class T>
struct RowMemory {
  const T* x;
  T* y;
};
template <class T>
RowMemory<T> open_row(const Row& x_row, const Row& y_row, const T* x, T* y, T* scratch) {
  if (!x_row.dense) x_row.each([&](int64_t offset, int64_t i) { scratch[i] = x[offset]; });
  return {x_row.dense ? x : scratch, y_row.dense ? y : scratch};
}
template <class T>
void close_row(const Row& y_row, const T* scratch, T* y) {
  if (!y_row.dense) y_row.each([&](int64_t offset, int64_t i) { y[offset] = scratch[i]; });
}

struct NormPlan {
  Row x, y;
  Operand scale, bias;  // broadcast to x's (split) shape; bias may be absent
  int64_t rows = 0;
  int64_t segment = 1;        // consecutive elements of a row that share one scale and one bias
  bool vector_scale = false;  // segment = 1 and scale and bias lie densely along a row
  bool centre = true;         // subtract the mean: all but rms_norm
  double epsilon = 0;
};

template <class T>
class NormKernel final : public Kernel {
 public:
  explicit NormKernel(NormPlan plan) : plan_(std::move(plan)) {}
  size_t scratch_bytes(uint32_t workers) const override {
    return plan_.x.dense && plan_.y.dense ? 0 : workers * row_bytes(plan_.x.count, sizeof(T));
  }
  uint32_t max_workers() const override { return worth_workers(4 * plan_.rows * plan_.x.count); }
  void run(const RunArgs& args) const noexcept override {
    T* scratch = reinterpret_cast<T*>(args.scratch + args.worker * row_bytes(plan_.x.count, sizeof(T)));
    const Range range = share(plan_.rows, 1, args.worker, args.workers);
    if (plan_.x.count == 0) return;
    for (int64_t index = range.begin; index < range.end; ++index) {
      T* y = output_data<T>(args, 0) + plan_.y.start(index);
      const RowMemory<T> row = open_row(plan_.x, plan_.y, input_data<T>(args, 0) + plan_.x.start(index), y, scratch);
      normalise(args, index, row);
      close_row(plan_.y, scratch, y);
    }
  }

 private:
  void normalise(const RunArgs& args, int64_t index, const RowMemory<T>& row) const {
    const int64_t count = plan_.x.count;
    const auto elements = static_cast<double>(count);
    Mean<T> mean;
    if (plan_.centre) mean.rounded = static_cast<T>(sum_row(row.x, count, T{0}).plain / elements);
    const Sums sums = sum_row(row.x, count, mean.rounded);
    const double rest = plan_.centre ? sums.plain / elements : 0;
    mean.rest = static_cast<T>(rest);
    const double square = sums.squares / elements - rest * rest;
    const double variance = square < 0 ? 0 : square;  // NaN stays NaN
    const T factor = static_cast<T>(1 / std::sqrt(variance + plan_.epsilon));
    const uint32_t first = plan_.x.first;
    const T* scale = input_data<T>(args, 1) + offset_of(plan_.scale, 0, first, index);
    const T* bias = plan_.bias.present() ? input_data<T>(args, 2) + offset_of(plan_.bias, 0, first, index) : nullptr;
    if (plan_.vector_scale) return scale_row_by(row.x, count, mean, factor, scale, bias, row.y);
    for (int64_t i = 0; i < count; i += plan_.segment) {
      const T s = scale[offset_of(plan_.scale, first, plan_.scale.rank(), i)];
      const T b = bias == nullptr ? T{0} : bias[offset_of(plan_.bias, first, plan_.bias.rank(), i)];
      scale_row(row.x + i, plan_.segment, mean, factor * s, b, row.y + i);
    }
  }

  NormPlan plan_;
};

// `from` seen with `shape`, right-aligned, stride 0 where it broadcasts.
Operand broadcast_to(const NodeView& node, const Operand& from, const char* name, const std::vector<int64_t>& shape) {
  Operand to = from;
  to.shape = shape;
  to.strides.assign(shape.size(), 0);
  bool fits = from.rank() <= shape.size();
  for (uint32_t axis = 0; fits && axis < from.rank(); ++axis) {
    const size_t at = shape.size() - from.rank() + axis;
    to.strides[at] = from.stride(axis);
    fits = from.shape[axis] == 1 || from.shape[axis] == shape[at];
  }
  if (!fits)
    refuse_node(node, std::string(name) + " has shape " + list_text(from.shape) + ", wanted one that broadcasts to " +
                          list_text(shape));
  return to;
}

void finish_plan(NormPlan& plan, const Operand& x, const Operand& y, uint32_t first) {
  plan.x = Row(x, first);
  plan.y = Row(y, first);
  plan.rows = 1;
  for (uint32_t axis = 0; axis < first; ++axis) plan.rows *= x.shape[axis];
  uint32_t axis = x.rank();
  const auto constant = [&](uint32_t a) {
    return plan.scale.stride(a) == 0 && (!plan.bias.present() || plan.bias.stride(a) == 0);
  };
  for (; axis > first && constant(axis - 1); --axis) plan.segment *= x.shape[axis - 1];
  int64_t scale_stride = 0, bias_stride = 1;
  plan.vector_scale = plan.segment == 1 && plan.scale.collapses(first, x.rank(), scale_stride) && scale_stride == 1 &&
                      (!plan.bias.present() || (plan.bias.collapses(first, x.rank(), bias_stride) && bias_stride == 1));
}

Prepared make_norm(uint32_t dtype, NormPlan plan) {
  if (dtype == BP_TYPE_F64) return {std::make_unique<NormKernel<double>>(std::move(plan)), {}, 1};
  return {std::make_unique<NormKernel<float>>(std::move(plan)), {}, 1};
}

// [N, C, ...] as [N, groups, C / groups, ...].
Operand split_channels(const Operand& from, int64_t groups) {
  Operand to = from;
  const int64_t per_group = groups == 0 ? 1 : from.shape[1] / groups;
  to.shape[1] = groups;
  to.shape.insert(to.shape.begin() + 2, per_group);
  to.strides.insert(to.strides.begin() + 1, from.strides[1] * per_group);
  return to;
}

// [C] as [1, groups, C / groups, 1, ...] with the rank of a split x.
Operand split_vector(const Operand& from, const Operand& x) {
  if (!from.present()) return {};
  Operand to = x;
  to.strides.assign(x.rank(), 0);
  to.strides[1] = from.stride(0) * x.shape[2];
  to.strides[2] = from.stride(0);
  return to;
}

Prepared prepare_channel_norm(const NodeView& node, const Operand& x, const Operand& scale, const Operand& bias,
                              const Operand& y) {
  want_rank(node, x, "x", 2, UINT32_MAX);
  const int64_t channels = x.shape[1];
  want_shape(node, scale, "scale", {channels});
  want_shape(node, bias, "bias", {channels});
  if (!bias.present()) refuse_node(node, "wanted an input bias, found none");
  int64_t groups = channels;
  if (node.op() == BP_OP_GROUP_NORM) {
    if (node.find(BP_ATTR_NUM_GROUPS) == nullptr) refuse_node(node, "wanted the attribute num_groups, found none");
    groups = want_i64(node, BP_ATTR_NUM_GROUPS, "num_groups", 1, 1, INT32_MAX);
    if (channels % groups != 0)
      refuse_node(node, "num_groups is " + std::to_string(groups) + ", wanted a divisor of the " +
                            std::to_string(channels) + " channels");
  }
  NormPlan plan;
  const Operand split = split_channels(x, groups);
  plan.scale = split_vector(scale, split);
  plan.bias = split_vector(bias, split);
  plan.epsilon = node.f64(BP_ATTR_EPSILON, 1e-5);
  finish_plan(plan, split, split_channels(y, groups), 2);
  return make_norm(x.dtype, std::move(plan));
}

Prepared prepare_row_norm(const NodeView& node, const Operand& x, const Operand& scale, const Operand& bias,
                          const Operand& y) {
  want_rank(node, x, "x", 1, UINT32_MAX);
  NormPlan plan;
  plan.scale = broadcast_to(node, scale, "scale", x.shape);
  if (bias.present()) plan.bias = broadcast_to(node, bias, "bias", x.shape);
  plan.centre = node.op() != BP_OP_RMS_NORM;
  plan.epsilon = node.f64(BP_ATTR_EPSILON, 1e-5);
  const int64_t last = x.rank() - 1;
  finish_plan(plan, x, y, static_cast<uint32_t>(want_i64(node, BP_ATTR_AXIS, "axis", last, 0, last)));
  return make_norm(x.dtype, std::move(plan));
}

// One (image, channel) plane per row.
template <class T>
class BatchNormKernel final : public Kernel {
 public:
  BatchNormKernel(const Operand& x, const Operand& y, const int64_t (&strides)[4], double epsilon)
      : x_(x, 2), y_(y, 2), rows_(x.shape[0] * x.shape[1]), channels_(x.shape[1]), epsilon_(epsilon) {
    std::copy(strides, strides + 4, strides_);
  }
  size_t scratch_bytes(uint32_t workers) const override {
    return x_.dense && y_.dense ? 0 : workers * row_bytes(x_.count, sizeof(T));
  }
  uint32_t max_workers() const override { return worth_workers(rows_ * x_.count); }
  void run(const RunArgs& args) const noexcept override {
    T* scratch = reinterpret_cast<T*>(args.scratch + args.worker * row_bytes(x_.count, sizeof(T)));
    const Range range = share(rows_, 1, args.worker, args.workers);
    for (int64_t index = range.begin; index < range.end; ++index) {
      const int64_t channel = index % channels_;
      const auto parameter = [&](int i) { return input_data<T>(args, 1 + i)[channel * strides_[i]]; };
      const double factor = static_cast<double>(parameter(0)) / std::sqrt(static_cast<double>(parameter(3)) + epsilon_);
      T* y = output_data<T>(args, 0) + y_.start(index);
      const RowMemory<T> row = open_row(x_, y_, input_data<T>(args, 0) + x_.start(index), y, scratch);
      scale_row(row.x, x_.count, Mean<T>{parameter(2)}, static_cast<T>(factor), parameter(1), row.y);
      close_row(y_, scratch, y);
    }
  }

 private:
  Row x_, y_;
  int64_t rows_, channels_;
  int64_t strides_[4];  // of scale, bias, mean, variance
  double epsilon_;
};

}  // namespace

Prepared prepare_norm(const NodeView& node) {
  return refuse_on_error([&] {
    const uint32_t op = node.op();
    const bool channels = op == BP_OP_INSTANCE_NORM || op == BP_OP_GROUP_NORM;
    want_counts(node, op == BP_OP_RMS_NORM ? 2 : 3, 1);
    want_attrs(node, {BP_ATTR_EPSILON, op == BP_OP_GROUP_NORM      ? BP_ATTR_NUM_GROUPS
                                       : op == BP_OP_INSTANCE_NORM ? BP_ATTR_EPSILON
                                                                   : BP_ATTR_AXIS});
    const Operand x = input_operand(node, 0, "x"), scale = input_operand(node, 1, "scale");
    const Operand bias = input_operand(node, 2, "bias", true), y = output_operand(node, 0, "y");
    want_float(node, x, "x");
    want_type(node, scale, "scale", x.dtype);
    want_type(node, bias, "bias", x.dtype);
    want_type(node, y, "y", x.dtype);
    want_shape(node, y, "y", x.shape);
    return channels ? prepare_channel_norm(node, x, scale, bias, y) : prepare_row_norm(node, x, scale, bias, y);
  });
}

Prepared prepare_batch_norm(const NodeView& node) {
  return refuse_on_error([&]() -> Prepared {
    want_counts(node, 5, 1);
    want_attrs(node, {BP_ATTR_EPSILON});
    const Operand x = input_operand(node, 0, "x"), y = output_operand(node, 0, "y");
    want_float(node, x, "x");
    want_rank(node, x, "x", 2, UINT32_MAX);
    want_type(node, y, "y", x.dtype);
    want_shape(node, y, "y", x.shape);
    const char* names[] = {"scale", "bias", "mean", "variance"};
    int64_t strides[4];
    for (uint32_t i = 0; i < 4; ++i) {
      const Operand parameter = input_operand(node, 1 + i, names[i]);
      want_type(node, parameter, names[i], x.dtype);
      want_shape(node, parameter, names[i], {x.shape[1]});
      strides[i] = parameter.stride(0);
    }
    const double epsilon = node.f64(BP_ATTR_EPSILON, 1e-5);
    if (x.dtype == BP_TYPE_F64) return {std::make_unique<BatchNormKernel<double>>(x, y, strides, epsilon), {}, 1};
    return {std::make_unique<BatchNormKernel<float>>(x, y, strides, epsilon), {}, 1};
  });
}

}  // namespace backplane_cpu
