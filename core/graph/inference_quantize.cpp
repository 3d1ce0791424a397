// Quantisation, and products of quantised tensors.
#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

bool is_quantised(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16;
}

Status want_broadcast(const InferenceCall& call, size_t i, size_t to) {
  if (!call.has(i)) return ok_status();
  auto shape = broadcast_shapes(call.shape(to), call.shape(i));
  if (shape.ok() && *shape == call.shape(to)) return ok_status();
  return call.fail(cat("input ", i, " does not broadcast to the shape of input ", to));
}

Result<Specs> infer_quantize(const InferenceCall& call) {
  BP_TRY(call.want_same_type(1, 0));
  BP_TRY_ASSIGN(const int64_t to, call.integer(BP_ATTR_TO, int64_t{BP_TYPE_U8}, 0, UINT32_MAX));
  const auto dtype = static_cast<DType>(to);
  if (!is_quantised(dtype)) return call.fail(cat("to is ", to, ", which is not u8, i8, u16 or i16"));
  if (call.has(2) && call.dtype(2) != dtype)
    return call.fail(cat("input 2, the zero point, must have the output's type, ", type_name(dtype)));
  for (const size_t i : {1, 2}) BP_TRY(want_broadcast(call, i, 0));
  return Specs{{dtype, call.shape(0)}};
}

Result<Specs> infer_dequantize(const InferenceCall& call) {
  if (!is_quantised(call.dtype(0)) && call.dtype(0) != DType::kI32)
    return call.fail("input 0 must have u8, i8, u16, i16 or i32");
  BP_TRY(call.want_type(1, TypeSet::kFloat));
  BP_TRY(call.want_same_type(2, 0));
  for (const size_t i : {1, 2}) BP_TRY(want_broadcast(call, i, 0));
  return Specs{{call.dtype(1), call.shape(0)}};
}

Result<Specs> infer_dynamic_quantize(const InferenceCall& call) {
  if (call.dtype(0) != DType::kF32) return call.fail("input 0 must have f32");
  return Specs{{DType::kU8, call.shape(0)}, {DType::kF32, {}}, {DType::kU8, {}}};
}

}  // namespace

Status check_integer_operands(const InferenceCall& call) {
  for (const size_t i : {0, 1}) {
    if (call.dtype(i) != DType::kU8 && call.dtype(i) != DType::kI8)
      return call.fail(cat("input ", i, " must have u8 or i8"));
    BP_TRY(call.want_same_type(i + 2, i));
    BP_TRY(want_broadcast(call, i + 2, i));
  }
  return ok_status();
}

std::span<const OpRule> quantize_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kQUANTIZE_LINEAR, 2, 3, TypeSet::kFloat, infer_quantize, {BP_ATTR_TO}},
      {Op::kDEQUANTIZE_LINEAR, 2, 3, TypeSet::kInt, infer_dequantize, {}},
      {Op::kDYNAMIC_QUANTIZE_LINEAR, 1, 1, TypeSet::kFloat, infer_dynamic_quantize, {}},
  };
  return rules;
}

}  // namespace backplane
