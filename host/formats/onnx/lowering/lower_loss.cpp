// Losses: negative log likelihood, alone and behind a log_softmax.
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// Each target's class and weight; both [N, d...].
struct Targets {
  TensorId classes = kNone;  // i64; 0 where ignored
  TensorId weight = kNone;   // none: all 1
};

// The weights of the targets' classes, 0 where the target is ignored.
Result<Targets> read_targets(NodeContext& c, DType dtype) {
  Targets targets;
  BP_TRY_ASSIGN(targets.classes, c.emit.op(Op::kCAST, {c.in(1)}, {{BP_ATTR_TO, int64_t{BP_TYPE_I64}}}));
  TensorId ignored = kNone;
  if (c.has_attr("ignore_index")) {
    const int64_t index = c.i64("ignore_index", 0);
    BP_TRY_ASSIGN(const TensorId marked,
                  c.emit.constant(HostTensor::of<int64_t>(DType::kI64, {}, std::span(&index, 1))));
    BP_TRY_ASSIGN(const TensorId zero, c.emit.scalar(DType::kI64, 0));
    BP_TRY_ASSIGN(ignored, c.emit.op(Op::kEQ, {targets.classes, marked}));
    BP_TRY_ASSIGN(targets.classes, c.emit.op(Op::kWHERE, {ignored, zero, targets.classes}));
  }
  if (c.has(2)) {
    BP_TRY_ASSIGN(targets.weight, c.emit.op(Op::kGATHER, {c.in(2), targets.classes}, {{BP_ATTR_AXIS, int64_t{0}}}));
  }
  if (ignored == kNone) return targets;
  BP_TRY_ASSIGN(const TensorId none, c.emit.scalar(dtype, 0));
  TensorId counted = targets.weight;
  if (counted == kNone) {
    BP_TRY_ASSIGN(counted, c.emit.scalar(dtype, 1));
  }
  BP_TRY_ASSIGN(targets.weight, c.emit.op(Op::kWHERE, {ignored, none, counted}));
  return targets;
}

Result<TensorId> over_all(NodeContext& c, Op op, TensorId x) {
  Shape axes(static_cast<size_t>(c.emit.rank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  return c.emit.op(op, {x}, {{BP_ATTR_AXES, axes}, {BP_ATTR_KEEPDIMS, int64_t{0}}});
}

// -weight * (log probability of the target), its sum, or its weighted mean. `x` is [N, C, d...].
Result<TensorId> nll(NodeContext& c, TensorId x) {
  Shape picked = c.emit.shape(x);
  if (picked.size() < 2) return invalid_argument(cat("the input must be [N, C, d...], found ", shape_text(picked)));
  picked[1] = 1;
  BP_TRY_ASSIGN(const Targets targets, read_targets(c, c.emit.dtype(x)));
  BP_TRY_ASSIGN(const TensorId indices, c.emit.reshape(targets.classes, picked));
  BP_TRY_ASSIGN(const TensorId found, c.emit.op(Op::kGATHER_ELEMENTS, {x, indices}, {{BP_ATTR_AXIS, int64_t{1}}}));
  picked.erase(picked.begin() + 1);
  BP_TRY_ASSIGN(TensorId loss, c.emit.reshape(found, picked));
  BP_TRY_ASSIGN(loss, c.emit.op(Op::kNEG, {loss}));
  if (targets.weight != kNone) {
    BP_TRY_ASSIGN(loss, c.emit.op(Op::kMUL, {loss, targets.weight}));
  }
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return over_all(c, Op::kREDUCE_SUM, loss);
  if (reduction != "mean") return invalid_argument(cat("reduction '", reduction, "' is not none, sum or mean"));
  if (targets.weight == kNone) return over_all(c, Op::kREDUCE_MEAN, loss);
  BP_TRY_ASSIGN(const TensorId sum, over_all(c, Op::kREDUCE_SUM, loss));
  BP_TRY_ASSIGN(const TensorId total, over_all(c, Op::kREDUCE_SUM, targets.weight));
  return c.emit.op(Op::kDIV, {sum, total});
}

Status nll_loss(NodeContext& c) { return c.set(0, nll(c, c.in(0))); }

Status softmax_cross_entropy_loss(NodeContext& c) {
  if (c.emit.rank(c.in(0)) < 2) return invalid_argument("the scores must be [N, C, d...]");
  BP_TRY_ASSIGN(const TensorId logs, c.emit.op(Op::kLOG_SOFTMAX, {c.in(0)}, {{BP_ATTR_AXIS, int64_t{1}}}));
  if (c.wants(1)) BP_TRY(c.set(1, logs));
  return c.set(0, nll(c, logs));
}

}  // namespace

std::span<const Lowering> loss_lowerings() {
  static constexpr Lowering kRows[] = {
      {"NegativeLogLikelihoodLoss", 12, 2, nll_loss},
      {"SoftmaxCrossEntropyLoss", 12, 2, softmax_cross_entropy_loss},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
