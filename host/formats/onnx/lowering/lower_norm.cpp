// Normalisation and the softmax family.
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// ONNX's default as the float that models store.
double epsilon(NodeContext& c) { return c.f64("epsilon", 1e-5f); }

// The statistics are the batch's own; the running ones become a mixture of theirs and the given ones.
Status batch_norm_by_batch(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  if (x.size() < 2) return invalid_argument(cat("the input must be [N, C, ...], found ", shape_text(x)));
  Shape axes{0}, row(x.size(), 1);
  for (size_t at = 2; at < x.size(); ++at) axes.push_back(static_cast<int64_t>(at));
  row[1] = x[1];
  Formula f(c.emit);
  const TensorId mean = f.reduce(Op::kREDUCE_MEAN, c.in(0), axes, false);
  const TensorId centred = f.sub(c.in(0), f.reshape(mean, row));
  const TensorId variance = f.reduce(Op::kREDUCE_MEAN, f.mul(centred, centred), axes, false);
  const TensorId y = f.op(Op::kBATCH_NORM, {c.in(0), c.in(1), c.in(2), f.cast(mean, c.emit.dtype(c.in(0))), variance},
                          {{BP_ATTR_EPSILON, epsilon(c)}});
  const double momentum = c.f64("momentum", 0.9f);
  const auto running = [&](TensorId given, TensorId found) {
    return f.result(f.add(f.mul(given, momentum), f.mul(f.cast(found, f.dtype(given)), 1 - momentum)));
  };
  BP_TRY(c.set(0, f.result(y)));
  if (c.wants(1)) BP_TRY(c.set(1, running(c.in(3), mean)));
  return c.wants(2) ? c.set(2, running(c.in(4), variance)) : ok_status();
}

Status batch_norm(NodeContext& c) {
  if (c.i64("training_mode", 0) != 0) return batch_norm_by_batch(c);
  if (c.i64("spatial", 1) != 1) return unimplemented("only spatial = 1 is supported");
  for (size_t at = 1; at < c.outputs().size(); ++at) {
    if (c.wants(at)) return unimplemented("it is in training mode: it has more than one output");
  }
  return c.set(
      0, c.emit.op(Op::kBATCH_NORM, {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)}, {{BP_ATTR_EPSILON, epsilon(c)}}));
}

Status instance_norm(NodeContext& c) {
  return c.set(0, c.emit.op(Op::kINSTANCE_NORM, {c.in(0), c.in(1), c.in(2)}, {{BP_ATTR_EPSILON, epsilon(c)}}));
}

// One value a group (opset 18 to 20) becomes one a channel.
Result<TensorId> per_channel(NodeContext& c, TensorId values, int64_t groups, int64_t channels) {
  if (c.opset() >= 21) return values;
  if (c.emit.shape(values) != Shape{groups}) {
    return invalid_argument(cat("scale and bias must have one element for each of ", groups, " groups, found ",
                                c.emit.builder().tensor_text(values)));
  }
  const int64_t column[] = {groups, 1}, grid[] = {groups, channels / groups}, flat[] = {channels};
  BP_TRY_ASSIGN(const TensorId standing, c.emit.reshape(values, column));
  BP_TRY_ASSIGN(const TensorId spread, c.emit.broadcast(standing, grid));
  return c.emit.reshape(spread, flat);
}

Status group_norm(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  const int64_t groups = c.i64("num_groups", 0);
  if (x.size() < 2 || groups < 1 || x[1] % groups != 0) {
    return invalid_argument(cat("num_groups (", groups, ") must divide the channels of ", shape_text(x)));
  }
  BP_TRY_ASSIGN(const TensorId scale, per_channel(c, c.in(1), groups, x[1]));
  BP_TRY_ASSIGN(const TensorId bias, per_channel(c, c.in(2), groups, x[1]));
  return c.set(0, c.emit.op(Op::kGROUP_NORM, {c.in(0), scale, bias},
                            {{BP_ATTR_EPSILON, epsilon(c)}, {BP_ATTR_NUM_GROUPS, groups}}));
}

// The mean and 1 / standard deviation that a LayerNormalization may give besides.
Status layer_statistics(NodeContext& c, const Shape& axes) {
  const AttrList over{{BP_ATTR_AXES, axes}, {BP_ATTR_KEEPDIMS, int64_t{1}}};
  BP_TRY_ASSIGN(const TensorId mean, c.emit.op(Op::kREDUCE_MEAN, {c.in(0)}, over));
  BP_TRY(c.set(1, mean));
  BP_TRY_ASSIGN(const TensorId centred, c.emit.op(Op::kSUB, {c.in(0), mean}));
  BP_TRY_ASSIGN(const TensorId squared, c.emit.op(Op::kMUL, {centred, centred}));
  BP_TRY_ASSIGN(const TensorId variance, c.emit.op(Op::kREDUCE_MEAN, {squared}, over));
  BP_TRY_ASSIGN(const TensorId small, c.emit.scalar(c.emit.dtype(variance), epsilon(c)));
  BP_TRY_ASSIGN(const TensorId sum, c.emit.op(Op::kADD, {variance, small}));
  BP_TRY_ASSIGN(const TensorId deviation, c.emit.op(Op::kSQRT, {sum}));
  return c.set(2, c.emit.op(Op::kRECIPROCAL, {deviation}));
}

Status layer_norm(NodeContext& c) {
  const int64_t rank = c.emit.rank(c.in(0));
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", -1), rank));
  if (c.wants(1) || c.wants(2)) {
    Shape axes(static_cast<size_t>(rank - axis));
    std::iota(axes.begin(), axes.end(), axis);
    BP_TRY(layer_statistics(c, axes));
  }
  return c.set(0, c.emit.op(Op::kLAYER_NORM, {c.in(0), c.in(1), c.in(2)},
                            {{BP_ATTR_AXIS, axis}, {BP_ATTR_EPSILON, epsilon(c)}}));
}

// (x - mean) / (deviation + 1e-9), as ONNX defines it.
Status mean_variance_norm(NodeContext& c) {
  Shape axes = c.i64s("axes");
  if (!c.has_attr("axes")) axes = {0, 2, 3};
  BP_TRY_ASSIGN(axes, NodeContext::axes_of(std::move(axes), c.emit.rank(c.in(0))));
  Formula f(c.emit);
  const TensorId centred = f.sub(c.in(0), f.reduce(Op::kREDUCE_MEAN, c.in(0), axes, true));
  const TensorId variance = f.reduce(Op::kREDUCE_MEAN, f.mul(centred, centred), axes, true);
  const TensorId y = f.div(centred, f.add(f.op(Op::kSQRT, {variance}), 1e-9));
  return c.set(0, f.result(y));
}

Status lp_norm(NodeContext& c) {
  const int64_t p = c.i64("p", 2);
  if (p != 1 && p != 2) return unimplemented("only p = 1 and p = 2 are supported");
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", -1), c.emit.rank(c.in(0))));
  BP_TRY_ASSIGN(const TensorId norm, c.emit.op(p == 1 ? Op::kREDUCE_L1 : Op::kREDUCE_L2, {c.in(0)},
                                               {{BP_ATTR_AXES, Shape{axis}}, {BP_ATTR_KEEPDIMS, int64_t{1}}}));
  return c.set(0, c.emit.op(Op::kDIV, {c.in(0), norm}));
}

Status softmax(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", -1), c.emit.rank(c.in(0))));
  return c.set(0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_AXIS, axis}}));
}

// Before opset 13 everything from `axis` on is one axis.
Status softmax_of_matrix(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  const auto rank = static_cast<int64_t>(x.size());
  int64_t axis = c.i64("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return invalid_argument(cat("axis ", axis, " is outside ", shape_text(x)));
  if (axis == rank - 1) return c.set(0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_AXIS, axis}}));
  BP_TRY_ASSIGN(const int64_t rows, element_count(std::span(x).first(static_cast<size_t>(axis))));
  BP_TRY_ASSIGN(const int64_t columns, element_count(std::span(x).subspan(static_cast<size_t>(axis))));
  const int64_t matrix[] = {rows, columns};
  BP_TRY_ASSIGN(const TensorId flat, c.emit.reshape(c.in(0), matrix));
  BP_TRY_ASSIGN(const TensorId y, c.emit.op(c.op(), {flat}, {{BP_ATTR_AXIS, int64_t{1}}}));
  return c.set(0, c.emit.reshape(y, x));
}

// x / (bias + alpha / size * (sum of squares over neighbouring channels)) ^ beta. The sum is an average pool over a
// channel axis made spatial, where padding counts as zeros.
Status lrn(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  const int64_t size = c.i64("size", 0);
  if (x.size() < 3 || size < 1) {
    return invalid_argument(
        cat("it needs [N, C, spatial...] and a positive size, found ", shape_text(x), " and ", size));
  }
  BP_TRY_ASSIGN(const int64_t space, element_count(std::span(x).subspan(2)));
  const int64_t plane[] = {x[0], 1, x[1], space};
  const DType dtype = c.emit.dtype(c.in(0));
  BP_TRY_ASSIGN(const TensorId squared, c.emit.op(Op::kMUL, {c.in(0), c.in(0)}));
  BP_TRY_ASSIGN(const TensorId flat, c.emit.reshape(squared, plane));
  BP_TRY_ASSIGN(const TensorId pooled, c.emit.op(Op::kAVERAGE_POOL, {flat},
                                                 {{BP_ATTR_KERNEL_SHAPE, Shape{size, 1}},
                                                  {BP_ATTR_STRIDES, Shape{1, 1}},
                                                  {BP_ATTR_DILATIONS, Shape{1, 1}},
                                                  {BP_ATTR_PADS, Shape{(size - 1) / 2, 0, size / 2, 0}},
                                                  {BP_ATTR_COUNT_INCLUDE_PAD, int64_t{1}}}));
  BP_TRY_ASSIGN(const TensorId mean, c.emit.reshape(pooled, x));
  BP_TRY_ASSIGN(const TensorId alpha, c.emit.scalar(dtype, c.f64("alpha", 1e-4f)));  // the mean is sum / size
  BP_TRY_ASSIGN(const TensorId bias, c.emit.scalar(dtype, c.f64("bias", 1)));
  BP_TRY_ASSIGN(const TensorId beta, c.emit.scalar(dtype, c.f64("beta", 0.75)));
  BP_TRY_ASSIGN(const TensorId scaled, c.emit.op(Op::kMUL, {mean, alpha}));
  BP_TRY_ASSIGN(const TensorId base, c.emit.op(Op::kADD, {scaled, bias}));
  BP_TRY_ASSIGN(const TensorId divisor, c.emit.op(Op::kPOW, {base, beta}));
  return c.set(0, c.emit.op(Op::kDIV, {c.in(0), divisor}));
}

}  // namespace

std::span<const Lowering> norm_lowerings() {
  static constexpr Lowering kRows[] = {
      {"BatchNormalization", 7, 5, batch_norm},
      {"InstanceNormalization", 1, 3, instance_norm},
      {"GroupNormalization", 18, 3, group_norm},
      {"LayerNormalization", 17, 2, layer_norm},
      {"LpNormalization", 1, 1, lp_norm},
      {"MeanVarianceNormalization", 9, 1, mean_variance_norm},
      {"LRN", 1, 1, lrn},
      {"Softmax", 1, 1, softmax_of_matrix, Op::kSOFTMAX, 12},
      {"Softmax", 13, 1, softmax, Op::kSOFTMAX},
      {"LogSoftmax", 1, 1, softmax_of_matrix, Op::kLOG_SOFTMAX, 12},
      {"LogSoftmax", 13, 1, softmax, Op::kLOG_SOFTMAX},
      {"Hardmax", 1, 1, softmax_of_matrix, Op::kHARDMAX, 12},
      {"Hardmax", 13, 1, softmax, Op::kHARDMAX},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
