// Reductions. Axes are an attribute in older opsets and an input in newer ones.
#include <numeric>

#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

Status reduce_over(NodeContext& c, std::vector<int64_t> axes) {
  const int64_t rank = c.emit.rank(c.in(0));
  if (axes.empty() && c.i64("noop_with_empty_axes", 0) == 0) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  BP_TRY_ASSIGN(axes, NodeContext::axes_of(std::move(axes), rank));
  return c.set(0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_AXES, axes}, {BP_ATTR_KEEPDIMS, c.i64("keepdims", 1)}}));
}

Status reduce(NodeContext& c) {
  BP_TRY_ASSIGN(std::vector<int64_t> axes, c.list("axes", 1, 18));
  return reduce_over(c, std::move(axes));
}

// ReduceSum's axes became an input earlier than the others'.
Status reduce_sum(NodeContext& c) {
  BP_TRY_ASSIGN(std::vector<int64_t> axes, c.list("axes", 1, 13));
  return reduce_over(c, std::move(axes));
}

Status arg_extreme(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), c.emit.rank(c.in(0))));
  return c.set(0, c.emit.op(c.op(), {c.in(0)},
                            {{BP_ATTR_AXIS, axis},
                             {BP_ATTR_KEEPDIMS, c.i64("keepdims", 1)},
                             {BP_ATTR_SELECT_LAST_INDEX, c.i64("select_last_index", 0)}}));
}

}  // namespace

std::span<const Lowering> reduce_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ReduceSum", 1, 1, reduce_sum, Op::kREDUCE_SUM},    {"ReduceMean", 1, 1, reduce, Op::kREDUCE_MEAN},
      {"ReduceMax", 1, 1, reduce, Op::kREDUCE_MAX},        {"ReduceMin", 1, 1, reduce, Op::kREDUCE_MIN},
      {"ReduceProd", 1, 1, reduce, Op::kREDUCE_PROD},      {"ReduceL1", 1, 1, reduce, Op::kREDUCE_L1},
      {"ReduceL2", 1, 1, reduce, Op::kREDUCE_L2},          {"ReduceSumSquare", 1, 1, reduce, Op::kREDUCE_SUM_SQUARE},
      {"ReduceLogSum", 1, 1, reduce, Op::kREDUCE_LOG_SUM}, {"ReduceLogSumExp", 1, 1, reduce, Op::kREDUCE_LOG_SUM_EXP},
      {"ArgMax", 1, 1, arg_extreme, Op::kARG_MAX},         {"ArgMin", 1, 1, arg_extreme, Op::kARG_MIN},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
