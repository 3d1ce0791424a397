// rope and attention.
#include <cmath>

#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

Status want_finite(const InferenceCall& call, uint32_t key, double fallback) {
  const double value = call.attrs.f64(key, fallback);
  if (std::isfinite(value)) return ok_status();
  return call.fail(cat(attr_name(key), " is ", value, ", but must be finite"));
}

// Input i broadcasts to `shape`.
Status want_broadcast(const InferenceCall& call, size_t i, const Shape& shape, std::string_view meaning) {
  if (!call.has(i)) return ok_status();
  const auto both = broadcast_shapes(shape, call.shape(i));
  if (both.ok() && *both == shape) return ok_status();
  return call.fail(cat("input ", i, " does not broadcast to ", meaning, " = ", shape_text(shape)));
}

Result<Specs> infer_rope(const InferenceCall& call) {
  BP_TRY(call.want_rank(0, 1, INT64_MAX));
  BP_TRY(call.want_type(1, TypeSet::kIndex));
  Shape rows = call.shape(0);
  const int64_t width = rows.back();
  rows.pop_back();
  BP_TRY(want_broadcast(call, 1, rows, "input 0's axes before the last"));
  BP_TRY_ASSIGN(const int64_t turned, call.integer(BP_ATTR_ROTARY_DIM, width, 0, width));
  if (turned % 2 != 0) return call.fail(cat("rotary_dim is ", turned, ", but elements are turned in pairs"));
  BP_TRY(call.flag(BP_ATTR_INTERLEAVED, false).status());
  BP_TRY(want_finite(call, BP_ATTR_SCALE, 1));
  BP_TRY(want_finite(call, BP_ATTR_BASE, 10000));
  if (const double base = call.attrs.f64(BP_ATTR_BASE, 10000); base <= 0)
    return call.fail(cat("base is ", base, ", but must be positive"));
  if (call.has(2) && call.dtype(2) != DType::kF32)
    return call.fail(cat("input 2, the factors, must be f32, but is ", type_name(call.dtype(2))));
  BP_TRY(call.want_shape(2, {turned / 2}, "[rotary_dim / 2]"));
  return infer_same(call);
}

Status check_mask(const InferenceCall& call) {
  if (!call.has(3) || call.dtype(3) == DType::kBOOL) return ok_status();
  return call.want_same_type(3, 0);
}

// [] or [B].
Status check_past(const InferenceCall& call) {
  if (!call.has(4)) return ok_status();
  BP_TRY(call.want_type(4, TypeSet::kIndex));
  if (call.rank(4) == 0) return ok_status();
  return call.want_shape(4, {call.shape(0)[0]}, "[] or [B]");
}

Result<Specs> infer_attention(const InferenceCall& call) {
  for (size_t i : {0, 1, 2}) BP_TRY(call.want_rank(i, 4, 4));
  BP_TRY(call.want_type(1, TypeSet::kFloat));
  BP_TRY(call.want_same_type(2, 1));
  const Shape &q = call.shape(0), &k = call.shape(1), &v = call.shape(2);
  const int64_t groups = k[1];
  if (groups == 0 ? q[1] != 0 : q[1] % groups != 0)
    return call.fail(cat("the ", q[1], " heads of input 0 are no multiple of the ", groups, " heads of input 1"));
  BP_TRY(call.want_shape(1, {q[0], groups, k[2], q[3]}, "[B, key heads, S, D]"));
  BP_TRY(call.want_shape(2, {q[0], groups, k[2], v[3]}, "[B, key heads, S, Dv]"));
  BP_TRY(check_mask(call));
  BP_TRY(want_broadcast(call, 3, {q[0], q[1], q[2], k[2]}, "[B, H, L, S]"));
  BP_TRY(check_past(call));
  BP_TRY(call.flag(BP_ATTR_CAUSAL, false).status());
  BP_TRY(want_finite(call, BP_ATTR_SCALE, 1));
  BP_TRY(call.want_nonnegative(BP_ATTR_SOFTCAP));
  return Specs{{call.dtype(0), {q[0], q[1], q[2], v[3]}}};
}

}  // namespace

std::span<const OpRule> attention_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kROPE,
       2,
       3,
       TypeSet::kFloat,
       infer_rope,
       {BP_ATTR_SCALE, BP_ATTR_INTERLEAVED, BP_ATTR_ROTARY_DIM, BP_ATTR_BASE}},
      {Op::kATTENTION, 3, 5, TypeSet::kFloat, infer_attention, {BP_ATTR_SCALE, BP_ATTR_CAUSAL, BP_ATTR_SOFTCAP}},
  };
  return rules;
}

}  // namespace backplane
