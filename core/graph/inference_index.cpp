// Ops that select and place elements by index, and those that order them.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

// Input 1 indexes input 0 along one axis and has its extents, or smaller ones, along the others.
Status check_element_indices(const InferenceCall& call) {
  BP_TRY(call.want_type(1, TypeSet::kIndex));
  BP_TRY_ASSIGN(const int64_t axis, call.axis(call.rank(0), 0));
  BP_TRY(call.want_rank(1, call.rank(0), call.rank(0)));
  for (int64_t other = 0; other < call.rank(0); ++other)
    if (other != axis && call.shape(1)[other] > call.shape(0)[other])
      return call.fail(cat("input 1 is longer than input 0 along axis ", other));
  return ok_status();
}

Result<Specs> infer_gather_elements(const InferenceCall& call) {
  BP_TRY(check_element_indices(call));
  return Specs{{call.dtype(0), call.shape(1)}};
}

// The extents of input 0 that a tuple of input 1 does not fix. Tuples stand along input 1's last axis.
Result<Shape> tuple_block(const InferenceCall& call, int64_t batch_dims) {
  BP_TRY(call.want_type(1, TypeSet::kIndex));
  BP_TRY(call.want_rank(1, batch_dims + 1, INT64_MAX));
  BP_TRY(call.want_rank(0, batch_dims + 1, INT64_MAX));
  const Shape &x = call.shape(0), &indices = call.shape(1);
  if (!std::equal(x.begin(), x.begin() + batch_dims, indices.begin()))
    return call.fail(cat("inputs 0 and 1 differ within the first ", batch_dims, " axes"));
  if (indices.back() < 1 || indices.back() > call.rank(0) - batch_dims)
    return call.fail(cat("the last extent of input 1 is ", indices.back(), ", but must be 1 to ",
                         call.rank(0) - batch_dims, ", the axes it may index"));
  return Shape(x.begin() + batch_dims + indices.back(), x.end());
}

Result<Specs> infer_gather_nd(const InferenceCall& call) {
  BP_TRY_ASSIGN(const int64_t batch_dims, call.integer(BP_ATTR_BATCH_DIMS, 0, 0, call.rank(0)));
  BP_TRY_ASSIGN(const Shape block, tuple_block(call, batch_dims));
  Shape shape(call.shape(1).begin(), call.shape(1).end() - 1);
  shape.insert(shape.end(), block.begin(), block.end());
  return Specs{{call.dtype(0), std::move(shape)}};
}

Status check_reduction(const InferenceCall& call) {
  BP_TRY(call.want_same_type(2, 0));
  BP_TRY_ASSIGN(const std::string reduction, call.word(BP_ATTR_REDUCTION, {"none", "add", "mul", "min", "max"}));
  return reduction == "none" ? ok_status() : call.want_type(0, TypeSet::kNum);
}

Result<Specs> infer_scatter_elements(const InferenceCall& call) {
  BP_TRY(check_element_indices(call));
  BP_TRY(check_reduction(call));
  BP_TRY(call.want_shape(2, call.shape(1), "that of input 1"));
  return infer_same(call);
}

Result<Specs> infer_scatter_nd(const InferenceCall& call) {
  BP_TRY(check_reduction(call));
  BP_TRY_ASSIGN(const Shape block, tuple_block(call, 0));
  Shape shape(call.shape(1).begin(), call.shape(1).end() - 1);
  shape.insert(shape.end(), block.begin(), block.end());
  BP_TRY(call.want_shape(2, shape, "one block for each tuple of input 1"));
  return infer_same(call);
}

Result<Specs> infer_cum_sum(const InferenceCall& call) {
  BP_TRY(call.axis(call.rank(0), 0).status());
  BP_TRY(call.flag(BP_ATTR_EXCLUSIVE, false).status());
  BP_TRY(call.flag(BP_ATTR_REVERSE, false).status());
  return infer_same(call);
}

Result<Specs> infer_top_k(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 1, INT64_MAX));
  BP_TRY_ASSIGN(const int64_t axis, call.axis(call.rank(0), call.rank(0) - 1));
  BP_TRY(call.flag(BP_ATTR_LARGEST, true).status());
  Shape shape = call.shape(0);
  BP_TRY_ASSIGN(shape[axis], call.integer(BP_ATTR_K, {}, 0, shape[axis]));
  return Specs{{call.dtype(0), shape}, {DType::kI64, shape}};
}

Result<Specs> infer_sort(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 1, INT64_MAX));
  BP_TRY(call.axis(call.rank(0), call.rank(0) - 1).status());
  BP_TRY(call.flag(BP_ATTR_DESCENDING, false).status());
  return Specs{call.in(0), {DType::kI64, call.shape(0)}};
}

// Rows are cast from floats only, to floats or blocks.
Status check_row_type(const InferenceCall& call) {
  const DType to = call.dtype(0), from = call.dtype(1);
  if (from == to || (is_float(from) && (is_float(to) || !is_plain(to)))) return ok_status();
  return call.fail("input 1 must have the type of input 0; or a float type, where that is float or block-quantised");
}

Result<Specs> infer_set_rows(const InferenceCall& call) {
  BP_TRY(call.want_type(2, TypeSet::kIndex));
  BP_TRY(call.want_rank(0, 2, INT64_MAX));
  BP_TRY(call.want_rank(1, call.rank(0), call.rank(0)));
  BP_TRY(check_row_type(call));
  const size_t axis = call.shape(0).size() - 2;
  Shape rows = call.shape(0);
  rows[axis] = call.shape(1)[axis];
  BP_TRY(call.want_shape(1, rows, "that of input 0 but for the number of rows"));
  rows.pop_back();
  const auto indices = broadcast_shapes(rows, call.shape(2));
  if (!indices.ok() || *indices != rows)
    return call.fail(cat("input 2 does not broadcast to ", shape_text(rows), ", an index for each row of input 1"));
  return infer_same(call);
}

}  // namespace

std::span<const OpRule> index_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kGATHER_ELEMENTS, 2, 2, TypeSet::kAny, infer_gather_elements, {BP_ATTR_AXIS}},
      {Op::kGATHER_ND, 2, 2, TypeSet::kAny, infer_gather_nd, {BP_ATTR_BATCH_DIMS}},
      {Op::kSCATTER_ELEMENTS, 3, 3, TypeSet::kAny, infer_scatter_elements, {BP_ATTR_AXIS, BP_ATTR_REDUCTION}},
      {Op::kSCATTER_ND, 3, 3, TypeSet::kAny, infer_scatter_nd, {BP_ATTR_REDUCTION}},
      {Op::kCUM_SUM, 1, 1, TypeSet::kNum, infer_cum_sum, {BP_ATTR_AXIS, BP_ATTR_EXCLUSIVE, BP_ATTR_REVERSE}},
      {Op::kTOP_K, 1, 1, TypeSet::kNum, infer_top_k, {BP_ATTR_AXIS, BP_ATTR_K, BP_ATTR_LARGEST}},
      {Op::kSORT, 1, 1, TypeSet::kNum, infer_sort, {BP_ATTR_AXIS, BP_ATTR_DESCENDING}},
      {Op::kSET_ROWS, 3, 3, TypeSet::kStored, infer_set_rows, {}},
  };
  return rules;
}

}  // namespace backplane
