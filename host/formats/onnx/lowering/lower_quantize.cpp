// Quantisation, and products of quantised tensors: integer products, then a scale.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"
#include "lowering/spatial.hpp"
#include "model_types.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// A scale or zero point lined up with x: one element, or one for each along `axis`.
Result<TensorId> lined_up(NodeContext& c, TensorId x, TensorId parameter, int64_t axis) {
  if (parameter == kNone) return parameter;
  const Shape shape = c.emit.shape(parameter);
  if (shape.empty()) return parameter;
  if (shape == Shape{1}) return c.emit.reshape(parameter, {});
  const int64_t rank = c.emit.rank(x);
  if (shape.size() != 1) {
    return invalid_argument(cat("scales and zero points of the shape ", shape_text(shape), " need a block_size"));
  }
  BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, rank));
  Shape standing(static_cast<size_t>(rank), 1);
  standing[static_cast<size_t>(axis)] = shape[0];
  return c.emit.reshape(parameter, standing);
}

// Scale (input 1) and zero point (input 2, may be absent) of input 0.
struct Quantisation {
  TensorId scale, zero_point;
};

// A parameter for each block along `axis`, repeated for each element of it; the last block may be shorter.
Result<TensorId> repeated(NodeContext& c, TensorId parameter, int64_t axis, int64_t block) {
  if (parameter == kNone) return parameter;
  const Shape x = c.emit.shape(c.in(0)), given = c.emit.shape(parameter);
  BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, static_cast<int64_t>(x.size())));
  const auto at = static_cast<size_t>(axis);
  block = std::min(block, std::max<int64_t>(x[at], 1));
  Shape wanted = x;
  wanted[at] = x[at] / block + (x[at] % block != 0);
  if (given != wanted) {
    return invalid_argument(cat("blocks of ", block, " along axis ", axis, " of ", shape_text(x), " need parameters ",
                                shape_text(wanted), ", found ", shape_text(given)));
  }
  Shape standing = given, wide = given, merged = given;
  standing.insert(standing.begin() + axis + 1, 1);
  wide.insert(wide.begin() + axis + 1, block);
  if (__builtin_mul_overflow(given[at], block, &merged[at])) return invalid_argument("an axis is too long for blocks");
  Formula f(c.emit);
  return f.result(f.slice(f.reshape(f.broadcast(f.reshape(parameter, standing), wide), merged), axis, 0, x[at]));
}

Result<Quantisation> quantisation(NodeContext& c) {
  const int64_t axis = c.i64("axis", 1);
  const int64_t block = c.i64("block_size", 0);
  if (block < 0) return invalid_argument(cat("block_size must not be negative, found ", block));
  if (block > 0) {
    BP_TRY_ASSIGN(const TensorId scales, repeated(c, c.in(1), axis, block));
    BP_TRY_ASSIGN(const TensorId zero_points, repeated(c, c.in(2), axis, block));
    return Quantisation{scales, zero_points};
  }
  BP_TRY_ASSIGN(const TensorId scale, lined_up(c, c.in(0), c.in(1), axis));
  BP_TRY_ASSIGN(const TensorId zero_point, lined_up(c, c.in(0), c.in(2), axis));
  return Quantisation{scale, zero_point};
}

Status quantize(NodeContext& c) {
  BP_TRY_ASSIGN(const Quantisation by, quantisation(c));
  DType dtype = by.zero_point == kNone ? DType::kU8 : c.emit.dtype(by.zero_point);
  if (const int64_t type = c.i64("output_dtype", 0); type != 0) {
    const std::optional<DType> wanted = dtype_of_onnx(type);
    if (!wanted) return unimplemented(cat("it makes ONNX element type ", type, ", which is not supported"));
    dtype = *wanted;
  }
  Formula f(c.emit);
  const TensorId x = f.cast(c.in(0), c.emit.dtype(by.scale));
  const TensorId y =
      f.op(Op::kQUANTIZE_LINEAR, {x, by.scale, by.zero_point}, {{BP_ATTR_TO, static_cast<int64_t>(dtype)}});
  return c.set(0, f.result(y));
}

Status dequantize(NodeContext& c) {
  BP_TRY_ASSIGN(const Quantisation by, quantisation(c));
  return c.set(0, c.emit.op(Op::kDEQUANTIZE_LINEAR, {c.in(0), by.scale, by.zero_point}));
}

Status dynamic_quantize(NodeContext& c) {
  const TensorId inputs[] = {c.in(0)};
  const bool wanted[] = {c.wants(0), c.wants(1), c.wants(2)};
  BP_TRY_ASSIGN(const std::vector<TensorId> made, c.emit.node(Op::kDYNAMIC_QUANTIZE_LINEAR, inputs, {}, wanted));
  for (size_t at = 0; at < made.size(); ++at)
    if (c.wants(at)) BP_TRY(c.set(at, made[at]));
  return ok_status();
}

// A zero point for each row of a, or each column of b: the last axis but one, or the last.
Result<TensorId> row_parameter(NodeContext& c, TensorId parameter) {
  if (parameter == kNone || c.emit.rank(parameter) != 1) return parameter;
  const Shape shape = c.emit.shape(parameter);
  return c.emit.reshape(parameter, shape[0] == 1 ? Shape{} : Shape{shape[0], 1});
}

Status matmul_integer(NodeContext& c) {
  BP_TRY_ASSIGN(const TensorId a_zero, row_parameter(c, c.in(2)));
  return c.set(0, c.emit.op(Op::kMATMUL_INTEGER, {c.in(0), c.in(1), a_zero, c.in(3)}));
}

Result<TensorId> integer_convolution(NodeContext& c, TensorId w, TensorId x_zero, TensorId w_zero) {
  const Shape weights = c.emit.shape(w);
  if (weights.size() < 3)
    return invalid_argument(cat("weights must be [out, in, kernel...], found ", shape_text(weights)));
  BP_TRY_ASSIGN(const Spatial spatial, read_spatial(c, Shape(weights.begin() + 2, weights.end())));
  BP_TRY_ASSIGN(x_zero, lined_up(c, c.in(0), x_zero, 1));
  BP_TRY_ASSIGN(w_zero, lined_up(c, w, w_zero, 0));
  AttrList attrs = spatial.attrs(false);
  attrs.set(BP_ATTR_GROUP, c.i64("group", 1));
  return c.emit.op(Op::kCONV_INTEGER, {c.in(0), w, x_zero, w_zero}, attrs);
}

Status conv_integer(NodeContext& c) { return c.set(0, integer_convolution(c, c.in(1), c.in(2), c.in(3))); }

// The integers that stand for sum * factor in the type and with the zero point of the wanted output.
TensorId requantized(Formula& f, TensorId sum, TensorId factor, TensorId zero_point, DType dtype) {
  const TensorId real = f.mul(f.cast(sum, DType::kF32), f.cast(factor, DType::kF32));
  return f.op(Op::kQUANTIZE_LINEAR, {real, f.scalar(DType::kF32, 1), zero_point},
              {{BP_ATTR_TO, static_cast<int64_t>(dtype)}});
}

// a, its scale, its zero point, b, its scale, its zero point, the result's scale, its zero point.
Status qlinear_matmul(NodeContext& c) {
  Formula f(c.emit);
  BP_TRY_ASSIGN(const TensorId a_zero, row_parameter(c, c.in(2)));
  BP_TRY_ASSIGN(const TensorId a_scale, row_parameter(c, c.in(1)));
  BP_TRY_ASSIGN(const TensorId y_scale, row_parameter(c, c.in(6)));
  BP_TRY_ASSIGN(const TensorId y_zero, row_parameter(c, c.in(7)));
  const TensorId sum = f.op(Op::kMATMUL_INTEGER, {c.in(0), c.in(3), a_zero, c.in(5)});
  const TensorId factor = f.div(f.mul(a_scale, c.in(4)), y_scale);
  return c.set(0, f.result(requantized(f, sum, factor, y_zero, c.emit.dtype(c.in(7)))));
}

// x, its scale, its zero point, w, its scale, its zero point, the result's scale, its zero point, i32 bias.
Status qlinear_conv(NodeContext& c) {
  BP_TRY_ASSIGN(TensorId sum, integer_convolution(c, c.in(3), c.in(2), c.in(5)));
  BP_TRY_ASSIGN(const TensorId w_scale, lined_up(c, sum, c.in(4), 1));
  BP_TRY_ASSIGN(const TensorId bias, lined_up(c, sum, c.in(8), 1));
  BP_TRY_ASSIGN(const TensorId y_zero, lined_up(c, sum, c.in(7), 1));
  Formula f(c.emit);
  if (bias != kNone) sum = f.add(sum, bias);
  const TensorId factor = f.div(f.mul(f.reshape(c.in(1), {}), w_scale), f.reshape(c.in(6), {}));
  return c.set(0, f.result(requantized(f, sum, factor, y_zero, c.emit.dtype(c.in(7)))));
}

}  // namespace

std::span<const Lowering> quantize_lowerings() {
  static constexpr Lowering kRows[] = {
      {"QuantizeLinear", 10, 2, quantize},
      {"DequantizeLinear", 10, 2, dequantize},
      {"DynamicQuantizeLinear", 11, 1, dynamic_quantize},
      {"MatMulInteger", 10, 2, matmul_integer},
      {"ConvInteger", 10, 2, conv_integer},
      {"QLinearMatMul", 10, 8, qlinear_matmul},
      {"QLinearConv", 10, 8, qlinear_conv},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
