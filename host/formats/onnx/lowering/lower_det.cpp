// Det: Gaussian elimination with partial pivoting, unrolled over the columns, on all matrices at once.
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

constexpr int64_t kMaxOrder = 64;

struct Elimination {
  TensorId rest;         // [B, n - 1, n - 1]
  TensorId determinant;  // [B, 1, 1]
};

// One column of [B, n, n]: the row of the largest element goes to the front and is taken out of the others.
Elimination eliminate(Formula& f, TensorId a, TensorId determinant) {
  const Shape shape = f.shape(a);
  if (!f.status().ok()) return {kNone, kNone};
  const int64_t n = shape[1];
  const TensorId column = f.op(Op::kABS, {f.slice(a, 2, 0, 1)});
  const TensorId best = f.op(Op::kARG_MAX, {column}, {{BP_ATTR_AXIS, int64_t{1}}});  // [B, 1, 1]
  const TensorId pivot_row =
      f.op(Op::kGATHER_ELEMENTS, {a, f.broadcast(best, {shape[0], 1, n})}, {{BP_ATTR_AXIS, int64_t{1}}});
  const TensorId pivot = f.slice(pivot_row, 2, 0, 1);
  const TensorId stays = f.compare(Op::kEQ, best, 0);
  const TensorId sign = f.op(Op::kWHERE, {stays, f.like(pivot, 1), f.like(pivot, -1)});
  const TensorId product = f.mul(determinant, f.mul(pivot, sign));
  if (n == 1) return {kNone, product};
  std::vector<double> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  const TensorId swapped = f.op(Op::kEQ, {f.reshape(f.list(DType::kI64, numbers), {n, 1}), best});
  const TensorId rows = f.slice(f.op(Op::kWHERE, {swapped, f.slice(a, 1, 0, 1), a}), 1, 1, n - 1);
  // A pivot of 0 has only zeros below it.
  const TensorId singular = f.compare(Op::kEQ, pivot, 0);
  const TensorId divisor = f.op(Op::kWHERE, {singular, f.like(pivot, 1), pivot});
  const TensorId factors = f.div(f.slice(rows, 2, 0, 1), divisor);
  return {f.slice(f.sub(rows, f.mul(factors, pivot_row)), 2, 1, n - 1), product};
}

Status det(NodeContext& c) {
  Shape shape = c.emit.shape(c.in(0));
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2]) {
    return invalid_argument(cat("it needs square matrices, found ", shape_text(shape)));
  }
  const int64_t order = shape.back();
  if (order > kMaxOrder) return unimplemented(cat("matrices of order above ", kMaxOrder, " are not supported"));
  shape.resize(shape.size() - 2);
  BP_TRY_ASSIGN(const int64_t batch, element_count(shape));
  Formula f(c.emit);
  Elimination state{f.reshape(c.in(0), {batch, order, order}), f.broadcast(f.like(c.in(0), 1), {batch, 1, 1})};
  for (int64_t left = order; left > 0; --left) state = eliminate(f, state.rest, state.determinant);
  const TensorId made = f.reshape(state.determinant, shape);
  return c.set(0, f.result(made));
}

}  // namespace

std::span<const Lowering> det_lowerings() {
  static constexpr Lowering kRows[] = {{"Det", 11, 1, det}};
  return kRows;
}

}  // namespace backplane::onnx_import
