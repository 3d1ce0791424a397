// Selecting, placing and ordering elements: what indices pick, and what data picks.
#include <algorithm>
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kMaxListed = int64_t{1} << 26;  // elements of lists that are written out at import

Result<int64_t> axis_attribute(NodeContext& c, int64_t fallback) {
  return NodeContext::axis_of(c.i64("axis", fallback), c.emit.rank(c.in(0)));
}

Status gather_elements(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, axis_attribute(c, 0));
  return c.set(0, c.emit.op(Op::kGATHER_ELEMENTS, {c.in(0), c.in(1)}, {{BP_ATTR_AXIS, axis}}));
}

Status gather_nd(NodeContext& c) {
  return c.set(0, c.emit.op(Op::kGATHER_ND, {c.in(0), c.in(1)}, {{BP_ATTR_BATCH_DIMS, c.i64("batch_dims", 0)}}));
}

Status scatter_elements(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, axis_attribute(c, 0));
  return c.set(0, c.emit.op(Op::kSCATTER_ELEMENTS, {c.in(0), c.in(1), c.in(2)},
                            {{BP_ATTR_AXIS, axis}, {BP_ATTR_REDUCTION, c.text("reduction", "none")}}));
}

Status scatter_nd(NodeContext& c) {
  return c.set(
      0, c.emit.op(Op::kSCATTER_ND, {c.in(0), c.in(1), c.in(2)}, {{BP_ATTR_REDUCTION, c.text("reduction", "none")}}));
}

Status cum_sum(NodeContext& c) {
  BP_TRY_ASSIGN(int64_t axis, c.in_i64(1));
  BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, c.emit.rank(c.in(0))));
  return c.set(0, c.emit.op(Op::kCUM_SUM, {c.in(0)},
                            {{BP_ATTR_AXIS, axis},
                             {BP_ATTR_EXCLUSIVE, c.i64("exclusive", 0)},
                             {BP_ATTR_REVERSE, c.i64("reverse", 0)}}));
}

Status top_k(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, axis_attribute(c, -1));
  int64_t k = c.i64("k", 0);
  if (c.opset() >= 10) {
    BP_TRY_ASSIGN(k, c.in_i64(1));
  }
  const bool wanted[] = {c.wants(0), c.wants(1)};
  const TensorId inputs[] = {c.in(0)};
  BP_TRY_ASSIGN(const std::vector<TensorId> made,
                c.emit.node(Op::kTOP_K, inputs,
                            {{BP_ATTR_AXIS, axis}, {BP_ATTR_K, k}, {BP_ATTR_LARGEST, c.i64("largest", 1)}}, wanted));
  if (wanted[0]) BP_TRY(c.set(0, made[0]));
  return wanted[1] ? c.set(1, made[1]) : ok_status();
}

// The input itself, or all of its elements in a row.
Result<TensorId> flat_unless_axis(NodeContext& c) {
  if (c.has_attr("axis")) return c.in(0);
  BP_TRY_ASSIGN(const int64_t count, element_count(c.emit.shape(c.in(0))));
  return c.emit.reshape(c.in(0), Shape{count});
}

// How many elements there are depends on the condition, which therefore must be known.
Status compress(NodeContext& c) {
  BP_TRY_ASSIGN(const std::vector<double> condition, c.in_f64s(1));
  BP_TRY_ASSIGN(const TensorId x, flat_unless_axis(c));
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), c.emit.rank(x)));
  Shape kept;
  for (size_t at = 0; at < condition.size(); ++at) {
    if (condition[at] != 0) kept.push_back(static_cast<int64_t>(at));
  }
  const int64_t extent = c.emit.shape(x)[static_cast<size_t>(axis)];
  if (!kept.empty() && kept.back() >= extent) {
    return invalid_argument(cat("the condition keeps element ", kept.back(), " of ", extent));
  }
  BP_TRY_ASSIGN(const TensorId indices, c.emit.i64s(kept));
  return c.set(0, c.emit.op(Op::kGATHER, {x, indices}, {{BP_ATTR_AXIS, axis}}));
}

// Each batch's first `length` steps backwards, the others as they are: gathered by indices along the time axis.
Status reverse_sequence(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  const int64_t time = c.i64("time_axis", 0), batch = c.i64("batch_axis", 1);
  if (x.size() < 2 || time < 0 || time > 1 || batch != 1 - time) {
    return invalid_argument(
        cat("time_axis and batch_axis must be 0 and 1 of ", shape_text(x), ", found ", time, " and ", batch));
  }
  if (x[static_cast<size_t>(time)] > kMaxListed) return unimplemented("it has too many steps to list");
  Shape steps(static_cast<size_t>(x[static_cast<size_t>(time)]));
  std::iota(steps.begin(), steps.end(), 0);
  Shape along(x.size(), 1), across(x.size(), 1);
  along[static_cast<size_t>(time)] = x[static_cast<size_t>(time)];
  across[static_cast<size_t>(batch)] = x[static_cast<size_t>(batch)];
  BP_TRY_ASSIGN(const TensorId list, c.emit.i64s(steps));
  Formula f(c.emit);
  const TensorId step = f.reshape(list, along), length = f.reshape(c.in(1), across);
  const TensorId mirrored = f.sub(f.add(length, -1.0), step);
  const TensorId chosen = f.op(Op::kWHERE, {f.op(Op::kLT, {step, length}), mirrored, step});
  const TensorId y = f.op(Op::kGATHER_ELEMENTS, {c.in(0), f.broadcast(chosen, x)}, {{BP_ATTR_AXIS, time}});
  return c.set(0, f.result(y));
}

// The shape that max_pool made x from, if nothing was left over at the ends.
Result<Shape> unpooled_shape(NodeContext& c, Shape x) {
  const Shape kernel = c.i64s("kernel_shape");
  const size_t rank = kernel.size();
  Shape strides = c.i64s("strides"), pads = c.i64s("pads");
  if (strides.empty()) strides.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (x.size() != rank + 2 || strides.size() != rank || pads.size() != 2 * rank) {
    return invalid_argument(cat("kernel_shape, strides and pads do not fit the input ", shape_text(x)));
  }
  for (size_t at = 0; at < rank; ++at) {
    const __int128 extent =
        static_cast<__int128>(x[at + 2] - 1) * strides[at] - pads[at] - pads[at + rank] + kernel[at];
    if (extent < 0 || extent > INT64_MAX) return invalid_argument("kernel_shape, strides and pads give no extent");
    x[at + 2] = static_cast<int64_t>(extent);
  }
  return x;
}

// Puts pooled elements back where max_pool took them from: its indices count the elements of the unpooled shape. A
// larger output has zeros at the ends.
Status max_unpool(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const Shape shape, unpooled_shape(c, x));
  BP_TRY_ASSIGN(const int64_t count, element_count(shape));
  BP_TRY_ASSIGN(const int64_t given, element_count(x));
  Shape pads(2 * shape.size(), 0);
  if (c.has(2)) {
    BP_TRY_ASSIGN(const Shape wanted, c.in_i64s(2));
    bool fits = wanted.size() == shape.size();
    for (size_t at = 0; fits && at < shape.size(); ++at) {
      pads[at + shape.size()] = wanted[at] - shape[at];
      fits = wanted[at] >= shape[at];
    }
    if (!fits) return invalid_argument(cat("output_shape ", shape_text(wanted), " is below ", shape_text(shape)));
  }
  Formula f(c.emit);
  const TensorId zeros = f.broadcast(f.like(c.in(0), 0), {count});
  const TensorId indices = f.reshape(c.in(1), {given}), values = f.reshape(c.in(0), {given});
  const TensorId flat = f.op(Op::kSCATTER_ELEMENTS, {zeros, indices, values}, {{BP_ATTR_AXIS, int64_t{0}}});
  const TensorId y = f.op(Op::kPAD, {f.reshape(flat, shape)}, {{BP_ATTR_PADS, pads}});
  return c.set(0, f.result(y));
}

}  // namespace

std::span<const Lowering> select_lowerings() {
  static constexpr Lowering kRows[] = {
      {"GatherElements", 11, 2, gather_elements},
      {"GatherND", 11, 2, gather_nd},
      {"Scatter", 9, 3, scatter_elements, Op::kSCATTER_ELEMENTS, 10},
      {"ScatterElements", 11, 3, scatter_elements},
      {"ScatterND", 11, 3, scatter_nd},
      {"CumSum", 11, 2, cum_sum},
      {"TopK", 1, 1, top_k},
      {"Compress", 9, 2, compress},
      {"ReverseSequence", 10, 2, reverse_sequence},
      {"MaxUnpool", 9, 2, max_unpool},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
