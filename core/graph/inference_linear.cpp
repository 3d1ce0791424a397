// Matrix products.
#include <utility>

#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

Result<Shape> product_shape(const InferenceCall& call, Shape b) {
  BP_TRY(call.want_rank(0, 1, INT64_MAX));
  BP_TRY(call.want_rank(1, 1, INT64_MAX));
  Shape a = call.shape(0);
  const bool row = a.size() == 1, column = b.size() == 1;  // NumPy's promotion of vectors, undone in the result
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (k != b[b.size() - 2])
    return call.fail(cat("the inner extents differ: ", k, " of input 0 and ", b[b.size() - 2], " of input 1"));
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  auto batch = broadcast_shapes(a, b);
  if (!batch.ok()) return call.fail(cat("batch axes: ", batch.status().message()));
  Shape shape = std::move(batch).value();
  if (!row) shape.push_back(m);
  if (!column) shape.push_back(n);
  return shape;
}

// Blocks lie along the summed axis, which is the last of a block-quantised input 1.
Result<Specs> infer_block_matmul(const InferenceCall& call) {
  BP_TRY(call.want_type(0, TypeSet::kFloat));
  BP_TRY(call.want_rank(1, 2, INT64_MAX));
  Shape b = call.shape(1);
  std::swap(b[b.size() - 1], b[b.size() - 2]);
  BP_TRY_ASSIGN(Shape shape, product_shape(call, std::move(b)));
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_matmul(const InferenceCall& call) {
  if (!is_plain(call.dtype(1))) return infer_block_matmul(call);
  BP_TRY(call.want_same_type(1, 0));
  BP_TRY_ASSIGN(Shape shape, product_shape(call, call.shape(1)));
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_matmul_integer(const InferenceCall& call) {
  BP_TRY(check_integer_operands(call));
  BP_TRY_ASSIGN(Shape shape, product_shape(call, call.shape(1)));
  return Specs{{DType::kI32, std::move(shape)}};
}

Result<Specs> infer_gemm(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 2, 2));
  BP_TRY(call.want_rank(1, 2, 2));
  BP_TRY(call.want_same_type(1, 0));
  BP_TRY(call.want_same_type(2, 0));
  if (call.shape(0)[1] != call.shape(1)[0])
    return call.fail(
        cat("the inner extents differ: ", call.shape(0)[1], " of input 0 and ", call.shape(1)[0], " of input 1"));
  Shape shape = {call.shape(0)[0], call.shape(1)[1]};
  if (call.has(2)) {
    auto sum = broadcast_shapes(shape, call.shape(2));
    if (!sum.ok() || *sum != shape)
      return call.fail(cat("input 2 does not broadcast to the product's shape ", shape_text(shape)));
  }
  return Specs{{call.dtype(0), std::move(shape)}};
}

// Input 1 is a matrix for each id: [E, K, N], or [E, N, K] of blocks, which lie along the summed axis.
Result<Specs> infer_matmul_id(const InferenceCall& call) {
  BP_TRY(call.want_type(2, TypeSet::kIndex));
  BP_TRY(call.want_rank(0, 1, INT64_MAX));
  BP_TRY(call.want_rank(1, 3, 3));
  const bool blocks = !is_plain(call.dtype(1));
  if (!blocks) BP_TRY(call.want_same_type(1, 0));
  const int64_t k = call.shape(1)[blocks ? 2 : 1], n = call.shape(1)[blocks ? 1 : 2];
  Shape rows = call.shape(0);
  if (rows.back() != k)
    return call.fail(cat("the inner extents differ: ", rows.back(), " of input 0 and ", k, " of input 1"));
  rows.pop_back();
  Shape shape = call.shape(2);
  const auto broadcast = broadcast_shapes(rows, shape);
  if (!broadcast.ok() || *broadcast != shape)
    return call.fail(cat("the rows ", shape_text(rows), " of input 0 do not broadcast to the ids of input 2"));
  shape.push_back(n);
  return Specs{{call.dtype(0), std::move(shape)}};
}

}  // namespace

std::span<const OpRule> linear_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kMATMUL, 2, 2, TypeSet::kNum, infer_matmul, {}},
      {Op::kMATMUL_INTEGER, 2, 4, TypeSet::kInt, infer_matmul_integer, {}},
      {Op::kGEMM, 2, 3, TypeSet::kNum, infer_gemm, {BP_ATTR_ALPHA, BP_ATTR_BETA}},
      {Op::kMATMUL_ID, 3, 3, TypeSet::kFloat, infer_matmul_id, {}},
  };
  return rules;
}

}  // namespace backplane
