// Convolutions, im2col, pools and normalisations.
#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  size_t axes() const { return kernel.size(); }
  // Extent that the kernel covers along a spatial axis.
  Wide covers(size_t axis) const { return Wide(dilations[axis]) * (kernel[axis] - 1) + 1; }
  Wide padding(size_t axis) const { return Wide(pads[axis]) + pads[axis + axes()]; }
};

Result<Window> read_window(const InferenceCall& call, std::vector<int64_t> kernel) {
  Window window;
  window.kernel = std::move(kernel);
  const auto count = static_cast<int64_t>(window.axes());
  for (int64_t extent : window.kernel)
    if (extent < 1)
      return call.fail(cat("the kernel's extents are ", shape_text(window.kernel), ", but must be positive"));
  BP_TRY_ASSIGN(window.strides, call.list(BP_ATTR_STRIDES, count, 1, 1));
  BP_TRY_ASSIGN(window.dilations, call.list(BP_ATTR_DILATIONS, count, 1, 1));
  BP_TRY_ASSIGN(window.pads, call.list(BP_ATTR_PADS, 2 * count, 0, 0));
  return window;
}

// The number of places where the window fits along a spatial axis of extent `in`.
Result<int64_t> window_count(const InferenceCall& call, const Window& window, size_t axis, int64_t in, bool ceil) {
  const Wide room = Wide(in) + window.padding(axis) - window.covers(axis);
  if (room < 0)
    return call.fail(cat("the kernel ", shape_text(window.kernel), " with dilations ", shape_text(window.dilations),
                         " does not fit into spatial axis ", axis, " with pads ", shape_text(window.pads)));
  const int64_t stride = window.strides[axis];
  Wide count = (ceil ? (room + stride - 1) / stride : room / stride) + 1;
  // A last window that would start in the right padding sees nothing of the input.
  if (ceil && count > 1 && (count - 1) * stride >= Wide(in) + window.pads[axis]) --count;
  return call.extent(count, "the output's extent");
}

Result<Shape> window_outputs(const InferenceCall& call, const Window& window, int64_t channels, bool ceil) {
  Shape shape = {call.shape(0)[0], channels};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    BP_TRY_ASSIGN(const int64_t extent, window_count(call, window, axis, call.shape(0)[2 + axis], ceil));
    shape.push_back(extent);
  }
  return shape;
}

// x and w of equal rank and type, b [M].
Status check_conv_operands(const InferenceCall& call, int64_t out_channels) {
  BP_TRY(call.want_same_type(1, 0));
  BP_TRY(call.want_same_type(2, 0));
  return call.want_shape(2, {out_channels}, "[M]");
}

Result<Shape> conv_shape(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 3, 5));
  BP_TRY(call.want_rank(1, call.rank(0), call.rank(0)));
  BP_TRY_ASSIGN(const int64_t group, call.integer(BP_ATTR_GROUP, 1, 1));
  const Shape& w = call.shape(1);
  if (Wide(w[1]) * group != call.shape(0)[1])
    return call.fail(
        cat("input 1 is [M, C/group, ...] = ", shape_text(w), ", but C is ", call.shape(0)[1], " and group ", group));
  if (w[0] % group != 0) return call.fail(cat("M = ", w[0], " is not a multiple of group ", group));
  BP_TRY_ASSIGN(const Window window, read_window(call, {w.begin() + 2, w.end()}));
  return window_outputs(call, window, w[0], false);
}

Result<Specs> infer_conv(const InferenceCall& call) {
  BP_TRY_ASSIGN(Shape shape, conv_shape(call));
  BP_TRY(check_conv_operands(call, call.shape(1)[0]));
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_conv_integer(const InferenceCall& call) {
  BP_TRY(check_integer_operands(call));
  BP_TRY_ASSIGN(Shape shape, conv_shape(call));
  return Specs{{DType::kI32, std::move(shape)}};
}

Result<Specs> infer_conv_transpose(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 3, 5));
  BP_TRY(call.want_rank(1, call.rank(0), call.rank(0)));
  BP_TRY_ASSIGN(const int64_t group, call.integer(BP_ATTR_GROUP, 1, 1));
  const Shape &x = call.shape(0), &w = call.shape(1);
  if (w[0] != x[1]) return call.fail(cat("input 1 is [C, M/group, ...] = ", shape_text(w), ", but C is ", x[1]));
  if (x[1] % group != 0) return call.fail(cat("C = ", x[1], " is not a multiple of group ", group));
  BP_TRY_ASSIGN(const int64_t channels, call.extent(Wide(w[1]) * group, "M"));
  BP_TRY(check_conv_operands(call, channels));
  BP_TRY_ASSIGN(const Window window, read_window(call, {w.begin() + 2, w.end()}));
  BP_TRY_ASSIGN(const auto extra, call.list(BP_ATTR_OUTPUT_PADDING, static_cast<int64_t>(window.axes()), 0, 0));
  Shape shape = {x[0], channels};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    const Wide extent =
        Wide(window.strides[axis]) * (x[2 + axis] - 1) + extra[axis] + window.covers(axis) - window.padding(axis);
    BP_TRY_ASSIGN(const int64_t checked, call.extent(extent, cat("the output's extent along spatial axis ", axis)));
    shape.push_back(checked);
  }
  return Specs{{call.dtype(0), std::move(shape)}};
}

// A column for each place of the window: [N, C * taps, places].
Result<Specs> infer_im2col(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 3, 5));
  BP_TRY_ASSIGN(auto kernel, call.list(BP_ATTR_KERNEL_SHAPE, call.rank(0) - 2, 1, {}));
  BP_TRY_ASSIGN(const Window window, read_window(call, std::move(kernel)));
  BP_TRY_ASSIGN(const Shape outputs, window_outputs(call, window, call.shape(0)[1], false));
  Shape shape = {outputs[0], outputs[1], 1};
  for (size_t axis = 0; axis < window.axes(); ++axis) {
    BP_TRY_ASSIGN(shape[1], call.extent(Wide(shape[1]) * window.kernel[axis], "C * taps"));
    BP_TRY_ASSIGN(shape[2], call.extent(Wide(shape[2]) * outputs[2 + axis], "the number of places"));
  }
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Shape> pool_shape(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 3, 5));
  BP_TRY_ASSIGN(auto kernel, call.list(BP_ATTR_KERNEL_SHAPE, call.rank(0) - 2, 1, {}));
  BP_TRY_ASSIGN(const Window window, read_window(call, std::move(kernel)));
  BP_TRY_ASSIGN(const bool ceil, call.flag(BP_ATTR_CEIL_MODE, false));
  for (size_t axis = 0; axis < window.axes(); ++axis)
    if (window.pads[axis] >= window.covers(axis) || window.pads[axis + window.axes()] >= window.covers(axis))
      return call.fail(cat("pads ", shape_text(window.pads), " must be below what the kernel covers, or a window sees ",
                           "nothing of the input (spatial axis ", axis, ")"));
  return window_outputs(call, window, call.shape(0)[1], ceil);
}

Result<Specs> infer_max_pool(const InferenceCall& call) {
  BP_TRY(call.flag(BP_ATTR_STORAGE_ORDER, false).status());
  BP_TRY_ASSIGN(const Shape shape, pool_shape(call));
  return Specs{{call.dtype(0), shape}, {DType::kI64, shape}};
}

Result<Specs> infer_average_pool(const InferenceCall& call) {
  BP_TRY(call.flag(BP_ATTR_COUNT_INCLUDE_PAD, false).status());
  BP_TRY_ASSIGN(Shape shape, pool_shape(call));
  return Specs{{call.dtype(0), std::move(shape)}};
}

// Norms with one parameter per channel: inputs 1 to the last are [C].
Result<Specs> infer_channel_norm(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, call.op == Op::kINSTANCE_NORM ? 3 : 2, INT64_MAX));
  BP_TRY(call.want_nonnegative(BP_ATTR_EPSILON));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    BP_TRY(call.want_same_type(i, 0));
    BP_TRY(call.want_shape(i, {call.shape(0)[1]}, "[C]"));
  }
  return infer_same(call);
}

Result<Specs> infer_group_norm(const InferenceCall& call) {
  BP_TRY_ASSIGN(const int64_t groups, call.integer(BP_ATTR_NUM_GROUPS, {}, 1));
  BP_TRY_ASSIGN(Specs specs, infer_channel_norm(call));
  if (call.shape(0)[1] % groups != 0)
    return call.fail(cat("C = ", call.shape(0)[1], " is not a multiple of num_groups ", groups));
  return specs;
}

Result<Specs> infer_axis_norm(const InferenceCall& call) {
  BP_TRY(call.axis(call.rank(0)).status());
  BP_TRY(call.want_nonnegative(BP_ATTR_EPSILON));
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i)) continue;
    BP_TRY(call.want_same_type(i, 0));
    auto shape = broadcast_shapes(call.shape(0), call.shape(i));
    if (!shape.ok() || *shape != call.shape(0))
      return call.fail(cat("input ", i, " does not broadcast to input 0's shape ", shape_text(call.shape(0))));
  }
  return infer_same(call);
}

Result<Specs> infer_softmax(const InferenceCall& call) {
  BP_TRY(call.axis(call.rank(0)).status());
  return infer_same(call);
}

}  // namespace

std::span<const OpRule> nn_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kCONV, 2, 3, TypeSet::kFloat, infer_conv, {BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_GROUP}},
      {Op::kCONV_INTEGER,
       2,
       4,
       TypeSet::kInt,
       infer_conv_integer,
       {BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_GROUP}},
      {Op::kCONV_TRANSPOSE,
       2,
       3,
       TypeSet::kFloat,
       infer_conv_transpose,
       {BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_OUTPUT_PADDING, BP_ATTR_GROUP}},
      {Op::kIM2COL,
       1,
       1,
       TypeSet::kAny,
       infer_im2col,
       {BP_ATTR_KERNEL_SHAPE, BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS}},
      {Op::kMAX_POOL,
       1,
       1,
       TypeSet::kNum,
       infer_max_pool,
       {BP_ATTR_KERNEL_SHAPE, BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_CEIL_MODE,
        BP_ATTR_STORAGE_ORDER}},
      {Op::kAVERAGE_POOL,
       1,
       1,
       TypeSet::kFloat,
       infer_average_pool,
       {BP_ATTR_KERNEL_SHAPE, BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_CEIL_MODE,
        BP_ATTR_COUNT_INCLUDE_PAD}},
      {Op::kBATCH_NORM, 5, 5, TypeSet::kFloat, infer_channel_norm, {BP_ATTR_EPSILON}},
      {Op::kINSTANCE_NORM, 3, 3, TypeSet::kFloat, infer_channel_norm, {BP_ATTR_EPSILON}},
      {Op::kGROUP_NORM, 3, 3, TypeSet::kFloat, infer_group_norm, {BP_ATTR_EPSILON, BP_ATTR_NUM_GROUPS}},
      {Op::kLAYER_NORM, 2, 3, TypeSet::kFloat, infer_axis_norm, {BP_ATTR_AXIS, BP_ATTR_EPSILON}},
      {Op::kRMS_NORM, 2, 2, TypeSet::kFloat, infer_axis_norm, {BP_ATTR_AXIS, BP_ATTR_EPSILON}},
      {Op::kSOFTMAX, 1, 1, TypeSet::kFloat, infer_softmax, {BP_ATTR_AXIS}},
      {Op::kLOG_SOFTMAX, 1, 1, TypeSet::kFloat, infer_softmax, {BP_ATTR_AXIS}},
      {Op::kHARDMAX, 1, 1, TypeSet::kFloat, infer_softmax, {BP_ATTR_AXIS}},
  };
  return rules;
}

}  // namespace backplane
