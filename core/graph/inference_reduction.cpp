// Reductions along axes.
#include <algorithm>

#include "inference_call.hpp"

namespace backplane {
namespace {

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& axes, bool keepdims) {
  Shape reduced;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
    if (!gone)
      reduced.push_back(shape[axis]);
    else if (keepdims)
      reduced.push_back(1);
  }
  return reduced;
}

Result<Specs> infer_reduce(const InferenceCall& call) {
  BP_TRY_ASSIGN(const auto axes, call.axes(call.rank(0)));
  BP_TRY_ASSIGN(const bool keepdims, call.flag(BP_ATTR_KEEPDIMS, true));
  return Specs{{call.dtype(0), reduced_shape(call.shape(0), axes, keepdims)}};
}

Result<Specs> infer_arg(const InferenceCall& call) {
  BP_TRY_ASSIGN(const int64_t axis, call.axis(call.rank(0), 0));
  BP_TRY_ASSIGN(const bool keepdims, call.flag(BP_ATTR_KEEPDIMS, true));
  BP_TRY(call.flag(BP_ATTR_SELECT_LAST_INDEX, false).status());
  Shape shape = reduced_shape(call.shape(0), {axis}, keepdims);
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (call.shape(0)[axis] == 0 && !empty) return call.fail("the axis has no element whose index could be given");
  return Specs{{DType::kI64, std::move(shape)}};
}

}  // namespace

std::span<const OpRule> reduction_rules() {
  static const std::vector<uint32_t> reduce_attrs = {BP_ATTR_AXES, BP_ATTR_KEEPDIMS};
  static const std::vector<uint32_t> arg_attrs = {BP_ATTR_AXIS, BP_ATTR_KEEPDIMS, BP_ATTR_SELECT_LAST_INDEX};
  static const std::vector<OpRule> rules = {
      {Op::kREDUCE_SUM, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_MEAN, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_MAX, 1, 1, TypeSet::kNumOrBool, infer_reduce, reduce_attrs},
      {Op::kREDUCE_MIN, 1, 1, TypeSet::kNumOrBool, infer_reduce, reduce_attrs},
      {Op::kREDUCE_PROD, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_L1, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_L2, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_SUM_SQUARE, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_LOG_SUM, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kREDUCE_LOG_SUM_EXP, 1, 1, TypeSet::kNum, infer_reduce, reduce_attrs},
      {Op::kARG_MAX, 1, 1, TypeSet::kNum, infer_arg, arg_attrs},
      {Op::kARG_MIN, 1, 1, TypeSet::kNum, infer_arg, arg_attrs},
  };
  return rules;
}

}  // namespace backplane
