// Comparisons, booleans, selection and casts.
#include <optional>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"
#include "lowering/text_cast.hpp"
#include "model_types.hpp"

namespace backplane::onnx_import {
namespace {

Status same_op(NodeContext& c) { return c.set(0, c.emit.op(c.op(), c.inputs())); }

Status is_inf(NodeContext& c) {
  return c.set(0, c.emit.op(Op::kIS_INF, {c.in(0)},
                            {{BP_ATTR_DETECT_POSITIVE, c.i64("detect_positive", 1)},
                             {BP_ATTR_DETECT_NEGATIVE, c.i64("detect_negative", 1)}}));
}

Result<TensorId> cast_to(NodeContext& c, DType dtype) {
  if (c.values.codes(c.in(0)) != kNone) return cast_from_text(c, c.in(0), dtype);
  BP_TRY(c.check_tensors({c.inputs().data(), 1}));
  if (c.emit.dtype(c.in(0)) == dtype) return c.in(0);
  return c.emit.op(Op::kCAST, {c.in(0)}, {{BP_ATTR_TO, static_cast<int64_t>(dtype)}});
}

Result<TensorId> as_text(NodeContext& c) {
  if (c.values.codes(c.in(0)) != kNone) return c.in(0);
  BP_TRY(c.check_tensors({c.inputs().data(), 1}));
  return cast_to_text(c, c.in(0));
}

Status cast(NodeContext& c) {
  const int64_t to = c.i64("to", 0);
  if (to == kOnnxString) return c.set(0, as_text(c));
  const std::optional<DType> dtype = dtype_of_onnx(to);
  if (!dtype) return unimplemented(cat("it casts to ONNX element type ", to, ", which is not supported"));
  return c.set(0, cast_to(c, *dtype));
}

Status cast_like(NodeContext& c) {
  if (c.values.codes(c.in(1)) != kNone) return c.set(0, as_text(c));
  BP_TRY(c.check_tensors({&c.inputs()[1], 1}));
  return c.set(0, cast_to(c, c.emit.dtype(c.in(1))));
}

}  // namespace

std::span<const Lowering> logic_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Equal", 7, 2, same_op, Op::kEQ},
      {"Less", 7, 2, same_op, Op::kLT},
      {"LessOrEqual", 12, 2, same_op, Op::kLE},
      {"Greater", 7, 2, same_op, Op::kGT},
      {"GreaterOrEqual", 12, 2, same_op, Op::kGE},
      {"And", 7, 2, same_op, Op::kAND},
      {"Or", 7, 2, same_op, Op::kOR},
      {"Xor", 7, 2, same_op, Op::kXOR},
      {"Not", 1, 1, same_op, Op::kNOT},
      {"Where", 9, 3, same_op, Op::kWHERE},
      {"IsNaN", 9, 1, same_op, Op::kIS_NAN},
      {"IsInf", 10, 1, is_inf},
      Lowering{"Cast", 6, 1, cast}.taking(Takes::values),
      Lowering{"CastLike", 15, 2, cast_like}.taking(Takes::values),
  };
  return kRows;
}

}  // namespace backplane::onnx_import
