// Pooling; global pools are reductions.
#include <algorithm>
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"
#include "lowering/spatial.hpp"

namespace backplane::onnx_import {
namespace {

Status max_pool(NodeContext& c) {
  BP_TRY_ASSIGN(const Spatial spatial, read_spatial(c, c.i64s("kernel_shape")));
  AttrList attrs = spatial.attrs(true);
  attrs.set(BP_ATTR_CEIL_MODE, c.i64("ceil_mode", 0));
  attrs.set(BP_ATTR_STORAGE_ORDER, c.i64("storage_order", 0));
  const bool wanted[] = {true, c.wants(1)};
  const TensorId inputs[] = {c.in(0)};
  BP_TRY_ASSIGN(const std::vector<TensorId> made, c.emit.node(Op::kMAX_POOL, inputs, attrs, wanted));
  BP_TRY(c.set(0, made[0]));
  return c.wants(1) ? c.set(1, made[1]) : ok_status();
}

Status average_pool(NodeContext& c) {
  BP_TRY_ASSIGN(const Spatial spatial, read_spatial(c, c.i64s("kernel_shape")));
  AttrList attrs = spatial.attrs(true);
  attrs.set(BP_ATTR_CEIL_MODE, c.i64("ceil_mode", 0));
  attrs.set(BP_ATTR_COUNT_INCLUDE_PAD, c.i64("count_include_pad", 0));
  return c.set(0, c.emit.op(Op::kAVERAGE_POOL, {c.in(0)}, attrs));
}

TensorId power(Formula& f, TensorId x, double exponent) { return f.op(Op::kPOW, {x, f.like(x, exponent)}); }

// Pads the ends such that windows that overhang them fit in; none starts behind the padding that was there.
void pad_overhang(Spatial& spatial) {
  const size_t rank = spatial.kernel.size();
  for (size_t at = 0; at < rank; ++at) {
    const int64_t reach = (spatial.kernel[at] - 1) * spatial.dilations[at] + 1;
    const int64_t in = spatial.in[at] + spatial.pads[at], stride = spatial.strides[at];
    const int64_t room = in + spatial.pads[at + rank] - reach;
    if (room < 0) continue;  // the op says what is wrong
    int64_t steps = (room + stride - 1) / stride;
    if (steps > 0 && steps * stride >= in) --steps;
    spatial.pads[at + rank] = std::max<int64_t>(0, steps * stride + reach - in);
  }
}

// (sum of |x|^p) ^ (1 / p): padding adds nothing, so the sum is the window's size times an average that counts it.
Status lp_pool(NodeContext& c) {
  BP_TRY_ASSIGN(Spatial spatial, read_spatial(c, c.i64s("kernel_shape")));
  const int64_t p = c.i64("p", 2);
  if (p < 1) return invalid_argument(cat("p must be positive, found ", p));
  if (c.i64("ceil_mode", 0) != 0) pad_overhang(spatial);
  AttrList attrs = spatial.attrs(true);
  attrs.set(BP_ATTR_COUNT_INCLUDE_PAD, int64_t{1});
  double size = 1;
  for (const int64_t extent : spatial.kernel) size *= static_cast<double>(extent);
  Formula f(c.emit);
  const TensorId terms = power(f, f.op(Op::kABS, {c.in(0)}), static_cast<double>(p));
  const TensorId sums = f.mul(f.op(Op::kAVERAGE_POOL, {terms}, attrs), size);
  return c.set(0, f.result(power(f, sums, 1 / static_cast<double>(p))));
}

Result<TensorId> over_space(NodeContext& c, Op op, TensorId x) {
  const int64_t rank = c.emit.rank(x);
  if (rank < 2) return invalid_argument("the input must be [N, C, spatial...]");
  std::vector<int64_t> axes(static_cast<size_t>(rank - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return c.emit.op(op, {x}, {{BP_ATTR_AXES, axes}, {BP_ATTR_KEEPDIMS, int64_t{1}}});
}

Status global_pool(NodeContext& c) { return c.set(0, over_space(c, c.op(), c.in(0))); }

Status global_lp_pool(NodeContext& c) {
  const int64_t p = c.i64("p", 2);
  if (p < 1) return invalid_argument(cat("p must be positive, found ", p));
  if (p <= 2) return c.set(0, over_space(c, p == 1 ? Op::kREDUCE_L1 : Op::kREDUCE_L2, c.in(0)));
  Formula f(c.emit);
  BP_TRY_ASSIGN(const TensorId terms, f.result(power(f, f.op(Op::kABS, {c.in(0)}), static_cast<double>(p))));
  BP_TRY_ASSIGN(const TensorId sums, over_space(c, Op::kREDUCE_SUM, terms));
  return c.set(0, f.result(power(f, sums, 1 / static_cast<double>(p))));
}

}  // namespace

std::span<const Lowering> pool_lowerings() {
  static constexpr Lowering kRows[] = {
      {"MaxPool", 1, 1, max_pool},
      {"AveragePool", 1, 1, average_pool},
      {"LpPool", 2, 1, lp_pool},
      {"GlobalAveragePool", 1, 1, global_pool, Op::kREDUCE_MEAN},
      {"GlobalMaxPool", 1, 1, global_pool, Op::kREDUCE_MAX},
      {"GlobalLpPool", 7, 1, global_lp_pool},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
