// Ops that move elements without computing.
#include <algorithm>
#include <cmath>

#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

Result<Specs> infer_cast(const InferenceCall& call) {
  BP_TRY_ASSIGN(const int64_t to, call.integer(BP_ATTR_TO, {}, 0, UINT32_MAX));
  const DType dtype = static_cast<DType>(to);
  if (!in_set(dtype, TypeSet::kStored)) return call.fail(cat("to is ", to, ", which is no element type"));
  const DType from = call.dtype(0);
  if (dtype != from && ((!is_plain(dtype) && !is_float(from)) || (!is_plain(from) && !is_float(dtype))))
    return call.fail(cat("to is ", type_name(dtype), "; block-quantised types are cast from and to floats only"));
  return Specs{{dtype, call.shape(0)}};
}

Result<Specs> infer_concat(const InferenceCall& call) {
  BP_TRY_ASSIGN(const int64_t axis, call.axis(call.rank(0)));
  Shape shape = call.shape(0);
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    if (!call.has(i)) return call.fail(cat("input ", i, " is missing"));
    BP_TRY(call.want_same_type(i, 0));
    Shape other = call.shape(i);
    if (other.size() != shape.size()) return call.fail(cat("input ", i, " differs in rank from input 0"));
    BP_TRY_ASSIGN(shape[axis], call.extent(Wide(shape[axis]) + other[axis], "the output's extent"));
    other[axis] = shape[axis];
    if (other != shape) return call.fail(cat("input ", i, " differs from input 0 in another extent than axis ", axis));
  }
  return Specs{{call.dtype(0), std::move(shape)}};
}

Status check_pad_source(const InferenceCall& call, const std::string& mode, size_t axis, int64_t widest) {
  const int64_t extent = call.shape(0)[axis];
  if (mode == "constant" || widest == 0) return ok_status();
  if (extent == 0) return call.fail(cat("axis ", axis, " has no elements that mode ", mode, " could repeat"));
  if (mode == "reflect" && widest >= extent)
    return call.fail(cat("mode reflect pads axis ", axis, " by ", widest, ", which must be below its extent ", extent));
  return ok_status();
}

Result<Specs> infer_pad(const InferenceCall& call) {
  BP_TRY(call.want_same_type(1, 0));
  BP_TRY(call.want_scalar(1));
  BP_TRY_ASSIGN(const std::string mode, call.word(BP_ATTR_MODE, {"constant", "reflect", "edge", "wrap"}));
  BP_TRY_ASSIGN(const auto pads, call.list(BP_ATTR_PADS, 2 * call.rank(0), 0, {}));
  Shape shape = call.shape(0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t begin = pads[axis], end = pads[axis + shape.size()];
    BP_TRY(check_pad_source(call, mode, axis, std::max(begin, end)));
    BP_TRY_ASSIGN(shape[axis], call.extent(Wide(shape[axis]) + begin + end, "the output's extent"));
  }
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_tile(const InferenceCall& call) {
  BP_TRY_ASSIGN(const auto repeats, call.list(BP_ATTR_REPEATS, call.rank(0), 0, {}));
  Shape shape = call.shape(0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    BP_TRY_ASSIGN(shape[axis], call.extent(Wide(shape[axis]) * repeats[axis], "the output's extent"));
  }
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_gather(const InferenceCall& call) {
  BP_TRY(call.want_type(1, TypeSet::kIndex));
  BP_TRY_ASSIGN(const int64_t axis, call.axis(call.rank(0), 0));
  const Shape& x = call.shape(0);
  if (!is_plain(call.dtype(0)) && axis + 1 == call.rank(0))
    return call.fail("single elements of a block cannot be gathered: the axis must not be the last");
  Shape shape(x.begin(), x.begin() + axis);
  shape.insert(shape.end(), call.shape(1).begin(), call.shape(1).end());
  shape.insert(shape.end(), x.begin() + axis + 1, x.end());
  return Specs{{call.dtype(0), std::move(shape)}};
}

Result<Specs> infer_reverse(const InferenceCall& call) {
  BP_TRY(call.axes(call.rank(0)).status());
  return infer_same(call);
}

Status check_resize_words(const InferenceCall& call) {
  BP_TRY(call.word(BP_ATTR_MODE, {"nearest", "linear", "cubic"}).status());
  BP_TRY(call.word(BP_ATTR_NEAREST_MODE, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}).status());
  BP_TRY(call.flag(BP_ATTR_EXCLUDE_OUTSIDE, false).status());
  BP_TRY_ASSIGN(
      const std::string coordinates,
      call.word(BP_ATTR_COORDINATE_MODE, {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
                                          "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn"}));
  const int64_t roi = static_cast<int64_t>(call.attrs.f64s(BP_ATTR_ROI).size());
  const bool needed = coordinates == "tf_crop_and_resize";
  if (roi == 2 * call.rank(0) || (roi == 0 && !needed)) return ok_status();
  return call.fail(cat("roi must have ", 2 * call.rank(0), " entries, but has ", roi));
}

Result<Specs> infer_resize(const InferenceCall& call) {
  BP_TRY(check_resize_words(call));
  BP_TRY_ASSIGN(Shape sizes, call.list(BP_ATTR_SIZES, call.rank(0), 0, {}));
  const std::vector<double> scales = call.attrs.f64s(BP_ATTR_SCALES);
  if (!scales.empty() && scales.size() != sizes.size())
    return call.fail(cat("scales must have ", sizes.size(), " entries, but has ", scales.size()));
  if (!std::all_of(scales.begin(), scales.end(), [](double scale) { return std::isfinite(scale) && scale > 0; }))
    return call.fail("scales must be finite and positive");
  for (size_t axis = 0; axis < sizes.size(); ++axis)
    if (call.shape(0)[axis] == 0 && sizes[axis] != 0)
      return call.fail(cat("axis ", axis, " has no elements to resize to ", sizes[axis]));
  return Specs{{call.dtype(0), std::move(sizes)}};
}

}  // namespace

std::span<const OpRule> movement_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kCOPY, 1, 1, TypeSet::kAny, infer_same, {}},
      {Op::kCAST, 1, 1, TypeSet::kStored, infer_cast, {BP_ATTR_TO}},
      {Op::kCONCAT, 1, kAnyNumber, TypeSet::kAny, infer_concat, {BP_ATTR_AXIS}},
      {Op::kPAD, 1, 2, TypeSet::kAny, infer_pad, {BP_ATTR_PADS, BP_ATTR_MODE}},
      {Op::kTILE, 1, 1, TypeSet::kAny, infer_tile, {BP_ATTR_REPEATS}},
      {Op::kGATHER, 2, 2, TypeSet::kStored, infer_gather, {BP_ATTR_AXIS}},
      {Op::kREVERSE, 1, 1, TypeSet::kAny, infer_reverse, {BP_ATTR_AXES}},
      {Op::kRESIZE,
       1,
       1,
       TypeSet::kNum,
       infer_resize,
       {BP_ATTR_SIZES, BP_ATTR_SCALES, BP_ATTR_MODE, BP_ATTR_COORDINATE_MODE, BP_ATTR_NEAREST_MODE,
        BP_ATTR_CUBIC_COEFF_A, BP_ATTR_EXCLUDE_OUTSIDE, BP_ATTR_EXTRAPOLATION_VALUE, BP_ATTR_ROI}},
  };
  return rules;
}

}  // namespace backplane
