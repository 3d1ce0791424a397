// Slices, padding, and selection by index.
#include <algorithm>
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// One axis of a slice, ONNX's way: negative positions count from the end and everything is clamped.
Result<TensorId> slice_axis(NodeContext& c, TensorId x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  const int64_t extent = c.emit.shape(x)[static_cast<size_t>(axis)];
  const auto place = [extent](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? at + extent : at, low, high);
  };
  if (step == 0) return invalid_argument("a slice's step must not be 0");
  step = std::clamp(step, -std::max<int64_t>(extent, 1), std::max<int64_t>(extent, 1));  // as far as any can go
  if (step > 0) {
    const int64_t first = place(start, 0, extent);
    const int64_t count = std::max<int64_t>(0, (place(end, 0, extent) - first + step - 1) / step);
    return c.emit.slice(x, axis, count ? first : 0, count, step);
  }
  const int64_t first = place(start, -1, extent - 1);
  const int64_t last = place(end, -1, extent - 1);
  const int64_t count = std::max<int64_t>(0, (first - last - step - 1) / -step);
  // Backwards = the same elements forwards, then reversed.
  BP_TRY_ASSIGN(const TensorId forwards, c.emit.slice(x, axis, count ? first + (count - 1) * step : 0, count, -step));
  return c.emit.op(Op::kREVERSE, {forwards}, {{BP_ATTR_AXES, Shape{axis}}});
}

Status slice_by(NodeContext& c, const Shape& starts, const Shape& ends, Shape axes, Shape steps) {
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size()) {
    return invalid_argument(cat("starts, ends, axes and steps must be of one length, found ", starts.size(), ", ",
                                ends.size(), ", ", axes.size(), " and ", steps.size()));
  }
  TensorId x = c.in(0);
  const int64_t rank = c.emit.rank(x);
  for (size_t at = 0; at < axes.size(); ++at) {
    BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(axes[at], rank));
    BP_TRY_ASSIGN(x, slice_axis(c, x, axis, starts[at], ends[at], steps[at]));
  }
  return c.set(0, x);
}

Status slice_by_attributes(NodeContext& c) { return slice_by(c, c.i64s("starts"), c.i64s("ends"), c.i64s("axes"), {}); }

Status slice(NodeContext& c) {
  BP_TRY_ASSIGN(const Shape starts, c.in_i64s(1));
  BP_TRY_ASSIGN(const Shape ends, c.in_i64s(2));
  BP_TRY_ASSIGN(Shape axes, c.in_i64s(3));
  BP_TRY_ASSIGN(Shape steps, c.in_i64s(4));
  return slice_by(c, starts, ends, std::move(axes), std::move(steps));
}

// Pads for every axis from pads for some: begins, then ends.
Result<Shape> spread_pads(const Shape& pads, Shape axes, int64_t rank, bool all) {
  if (all) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size()) {
    return invalid_argument(
        cat("pads ", shape_text(pads), " must have two entries for each of ", axes.size(), " axes"));
  }
  Shape spread(static_cast<size_t>(2 * rank), 0);
  for (size_t at = 0; at < axes.size(); ++at) {
    BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(axes[at], rank));
    spread[static_cast<size_t>(axis)] = pads[at];
    spread[static_cast<size_t>(axis + rank)] = pads[at + axes.size()];
  }
  return spread;
}

// Negative pads crop; what is left pads.
Status pad_by(NodeContext& c, Shape pads, TensorId value) {
  TensorId x = c.in(0);
  const int64_t rank = c.emit.rank(x);
  for (int64_t axis = 0; axis < rank; ++axis) {
    int64_t& begin = pads[static_cast<size_t>(axis)];
    int64_t& end = pads[static_cast<size_t>(axis + rank)];
    if (begin >= 0 && end >= 0) continue;
    const int64_t extent = c.emit.shape(x)[static_cast<size_t>(axis)];
    const int64_t first = begin < 0 ? -std::max(begin, -extent) : 0;
    const int64_t cut = end < 0 ? -std::max(end, -extent) : 0;
    if (first + cut > extent) return invalid_argument(cat("pads ", shape_text(pads), " crop more than there is"));
    BP_TRY_ASSIGN(x, c.emit.slice(x, axis, first, extent - first - cut));
    begin = std::max<int64_t>(begin, 0);
    end = std::max<int64_t>(end, 0);
  }
  if (std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad == 0; })) return c.set(0, x);
  return c.set(0, c.emit.op(Op::kPAD, {x, value}, {{BP_ATTR_PADS, pads}, {BP_ATTR_MODE, c.text("mode", "constant")}}));
}

Status pad_by_attributes(NodeContext& c) {
  BP_TRY_ASSIGN(Shape pads, spread_pads(c.i64s("pads"), {}, c.emit.rank(c.in(0)), true));
  BP_TRY_ASSIGN(const TensorId value, c.emit.scalar(c.emit.dtype(c.in(0)), c.f64("value", 0)));
  return pad_by(c, std::move(pads), value);
}

Status pad(NodeContext& c) {
  BP_TRY_ASSIGN(const Shape given, c.in_i64s(1));
  BP_TRY_ASSIGN(Shape axes, c.in_i64s(3));
  BP_TRY_ASSIGN(Shape pads, spread_pads(given, std::move(axes), c.emit.rank(c.in(0)), !c.has(3)));
  TensorId value = c.in(2);
  if (value != kNone && c.emit.rank(value) != 0) {  // some exporters give one element of rank 1
    BP_TRY_ASSIGN(value, c.emit.reshape(value, {}));
  }
  return pad_by(c, std::move(pads), value);
}

// One known index is a slice, which costs nothing.
Result<TensorId> gather_one(NodeContext& c, int64_t axis, int64_t index, const Shape& index_shape) {
  Shape shape = c.emit.shape(c.in(0));
  const int64_t extent = shape[static_cast<size_t>(axis)];
  if (index < -extent || index >= extent) {
    return out_of_range(cat("index ", index, " is outside axis ", axis, " of ", shape_text(shape)));
  }
  BP_TRY_ASSIGN(const TensorId one, c.emit.slice(c.in(0), axis, index < 0 ? index + extent : index, 1));
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, index_shape.begin(), index_shape.end());
  return c.emit.reshape(one, shape);
}

Status gather(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), c.emit.rank(c.in(0))));
  const Shape index_shape = c.emit.shape(c.in(1));
  BP_TRY_ASSIGN(const int64_t count, element_count(index_shape));
  if (count == 1 && c.emit.is_constant(c.in(1))) {
    BP_TRY_ASSIGN(const Shape index, c.in_i64s(1));
    return c.set(0, gather_one(c, axis, index[0], index_shape));
  }
  return c.set(0, c.emit.op(Op::kGATHER, {c.in(0), c.in(1)}, {{BP_ATTR_AXIS, axis}}));
}

// Whether each position along a new axis is the (wrapped) index there, then one of the two values.
Status one_hot(NodeContext& c) {
  BP_TRY_ASSIGN(const std::vector<double> depths, c.in_f64s(1));  // of any number type
  if (depths.size() != 1 || !(depths[0] >= 1 && depths[0] < 0x1p31)) {
    return invalid_argument("depth must be one positive number");
  }
  const auto depth = static_cast<int64_t>(depths[0]);
  Shape shape = c.emit.shape(c.in(0));
  const auto rank = static_cast<int64_t>(shape.size());
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", -1), rank + 1));
  Shape positions(static_cast<size_t>(depth));
  std::iota(positions.begin(), positions.end(), 0);
  Shape along(static_cast<size_t>(rank + 1), 1);
  along[static_cast<size_t>(axis)] = depth;
  shape.insert(shape.begin() + axis, 1);

  BP_TRY_ASSIGN(const TensorId whole, c.emit.op(Op::kCAST, {c.in(0)}, {{BP_ATTR_TO, int64_t{BP_TYPE_I64}}}));
  BP_TRY_ASSIGN(const TensorId index, c.emit.reshape(whole, shape));
  BP_TRY_ASSIGN(const TensorId list, c.emit.i64s(positions));
  BP_TRY_ASSIGN(const TensorId forward, c.emit.reshape(list, along));
  BP_TRY_ASSIGN(const TensorId extent, c.emit.scalar(DType::kI64, static_cast<double>(depth)));
  BP_TRY_ASSIGN(const TensorId backward, c.emit.op(Op::kSUB, {forward, extent}));
  BP_TRY_ASSIGN(const TensorId hit, c.emit.op(Op::kEQ, {index, forward}));
  BP_TRY_ASSIGN(const TensorId wrapped_hit, c.emit.op(Op::kEQ, {index, backward}));
  BP_TRY_ASSIGN(const TensorId any, c.emit.op(Op::kOR, {hit, wrapped_hit}));
  BP_TRY_ASSIGN(const TensorId off_one, c.emit.slice(c.in(2), 0, 0, 1));
  BP_TRY_ASSIGN(const TensorId on_one, c.emit.slice(c.in(2), 0, 1, 1));
  return c.set(0, c.emit.op(Op::kWHERE, {any, on_one, off_one}));
}

// A constant mask of the triangle chooses between the input and 0.
Status trilu(NodeContext& c) {
  const Shape shape = c.emit.shape(c.in(0));
  if (shape.size() < 2) return invalid_argument(cat("the input must be of rank 2 or more, found ", shape_text(shape)));
  int64_t k = 0;
  if (c.has(1)) {
    BP_TRY_ASSIGN(k, c.in_i64(1));
  }
  const bool upper = c.i64("upper", 1) != 0;
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  k = std::clamp(k, -rows, columns);
  BP_TRY_ASSIGN(HostTensor mask, HostTensor::zeros(DType::kBOOL, {rows, columns}));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      mask.mutable_data<uint8_t>()[row * columns + column] = upper ? column - row >= k : column - row <= k;
    }
  }
  BP_TRY_ASSIGN(const TensorId kept, c.emit.constant(std::move(mask)));
  BP_TRY_ASSIGN(const TensorId zero, c.emit.scalar(c.emit.dtype(c.in(0)), 0));
  return c.set(0, c.emit.op(Op::kWHERE, {kept, c.in(0), zero}));
}

}  // namespace

std::span<const Lowering> index_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Slice", 1, 1, slice_by_attributes, Op::kCOPY, 9},
      Lowering{"Slice", 10, 3, slice}.taking(Takes::first_text),
      {"Pad", 2, 1, pad_by_attributes, Op::kPAD, 10},
      {"Pad", 11, 2, pad},
      Lowering{"Gather", 1, 2, gather}.taking(Takes::first_text),
      {"OneHot", 9, 3, one_hot},
      {"Trilu", 14, 1, trilu},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
