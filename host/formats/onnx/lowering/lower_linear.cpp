// Matrix products.
#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

Status matmul(NodeContext& c) { return c.set(0, c.emit.op(Op::kMATMUL, {c.in(0), c.in(1)})); }

Result<TensorId> operand(NodeContext& c, size_t at, std::string_view transposed) {
  if (c.i64(transposed, 0) == 0) return c.in(at);
  if (c.emit.rank(c.in(at)) != 2) {
    return invalid_argument(cat("input ", at, " must be a matrix, found ", c.emit.builder().tensor_text(c.in(at))));
  }
  const int64_t order[] = {1, 0};
  return c.emit.permute(c.in(at), order);
}

Status gemm(NodeContext& c) {
  BP_TRY_ASSIGN(const TensorId a, operand(c, 0, "transA"));
  BP_TRY_ASSIGN(const TensorId b, operand(c, 1, "transB"));
  return c.set(
      0, c.emit.op(Op::kGEMM, {a, b, c.in(2)}, {{BP_ATTR_ALPHA, c.f64("alpha", 1)}, {BP_ATTR_BETA, c.f64("beta", 1)}}));
}

}  // namespace

std::span<const Lowering> linear_lowerings() {
  static constexpr Lowering kRows[] = {
      {"MatMul", 1, 2, matmul},
      {"Gemm", 1, 2, gemm},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
