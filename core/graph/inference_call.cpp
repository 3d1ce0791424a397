#include "inference_call.hpp"

#include <algorithm>
#include <cmath>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

std::string_view set_text(TypeSet set) {
  switch (set) {
    case TypeSet::kFloat:
      return "f64, f32, f16 or bf16";
    case TypeSet::kInt:
      return "an integer type";
    case TypeSet::kUnsigned:
      return "an unsigned integer type";
    case TypeSet::kNum:
      return "a number type";
    case TypeSet::kBool:
      return "bool";
    case TypeSet::kAny:
    case TypeSet::kNumOrBool:
      return "a number type or bool";
    case TypeSet::kIndex:
      return "i32 or i64";
    case TypeSet::kStored:
      return "a known element type";
  }
  return "?";
}

bool is_unsigned(DType dtype) {
  return dtype == DType::kU64 || dtype == DType::kU32 || dtype == DType::kU16 || dtype == DType::kU8;
}

std::string spec_text(const TensorSpec& spec) { return cat(type_name(spec.dtype), " ", shape_text(spec.shape)); }

}  // namespace

bool in_set(DType dtype, TypeSet set) {
  const bool number = is_float(dtype) || is_integer(dtype);
  switch (set) {
    case TypeSet::kFloat:
      return is_float(dtype);
    case TypeSet::kInt:
      return is_integer(dtype);
    case TypeSet::kUnsigned:
      return is_unsigned(dtype);
    case TypeSet::kNum:
      return number;
    case TypeSet::kBool:
      return dtype == DType::kBOOL;
    case TypeSet::kAny:
    case TypeSet::kNumOrBool:
      return number || dtype == DType::kBOOL;
    case TypeSet::kIndex:
      return dtype == DType::kI32 || dtype == DType::kI64;
    case TypeSet::kStored:
      return type_layout(dtype).block_bytes != 0;
  }
  return false;
}

Status InferenceCall::fail(std::string_view what) const {
  std::vector<std::string> texts;
  for (const auto& input : inputs) texts.push_back(input ? spec_text(*input) : "absent");
  return invalid_argument(cat(op_name(op), ": ", what, "; inputs: ", join(texts, ", ")));
}

Status InferenceCall::want_type(size_t i, TypeSet set) const {
  if (!has(i) || in_set(dtype(i), set)) return ok_status();
  return fail(cat("input ", i, " must have ", set_text(set), ", but has ", type_name(dtype(i))));
}

Status InferenceCall::want_same_type(size_t i, size_t as) const {
  if (!has(i) || dtype(i) == dtype(as)) return ok_status();
  return fail(cat("input ", i, " must have the type of input ", as, ", ", type_name(dtype(as)), ", but has ",
                  type_name(dtype(i))));
}

Status InferenceCall::want_shape(size_t i, const Shape& wanted, std::string_view meaning) const {
  if (!has(i) || shape(i) == wanted) return ok_status();
  return fail(
      cat("input ", i, " must have shape ", meaning, " = ", shape_text(wanted), ", but has ", shape_text(shape(i))));
}

Status InferenceCall::want_scalar(size_t i) const {
  if (!has(i) || rank(i) == 0 || shape(i) == Shape{1}) return ok_status();
  return fail(cat("input ", i, " must be a scalar, but has shape ", shape_text(shape(i))));
}

Status InferenceCall::want_rank(size_t i, int64_t least, int64_t most) const {
  if (rank(i) >= least && rank(i) <= most) return ok_status();
  const std::string wanted = least == most       ? cat(least)
                             : most == INT64_MAX ? cat("at least ", least)
                                                 : cat(least, " to ", most);
  return fail(cat("input ", i, " must have rank ", wanted, ", but has shape ", shape_text(shape(i))));
}

Result<int64_t> InferenceCall::axis(int64_t rank, std::optional<int64_t> fallback) const {
  if (!attrs.has(BP_ATTR_AXIS) && !fallback) return fail("the attribute axis is missing");
  const int64_t value = attrs.i64(BP_ATTR_AXIS, fallback.value_or(0));
  if (value < 0 || value >= rank) return fail(cat("axis is ", value, ", but must be in [0, ", rank, ")"));
  return value;
}

Result<std::vector<int64_t>> InferenceCall::axes(int64_t rank) const {
  std::vector<int64_t> values = attrs.i64s(BP_ATTR_AXES);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= rank || (i > 0 && values[i] <= values[i - 1]))
      return fail(cat("axes are ", shape_text(values), ", but must ascend without repetition within [0, ", rank, ")"));
  }
  return values;
}

Result<std::vector<int64_t>> InferenceCall::list(uint32_t key, int64_t count, int64_t least,
                                                 std::optional<int64_t> fallback) const {
  if (!attrs.has(key)) {
    if (fallback) return std::vector<int64_t>(static_cast<size_t>(count), *fallback);
    return fail(cat("the attribute ", attr_name(key), " is missing"));
  }
  std::vector<int64_t> values = attrs.i64s(key);
  if (static_cast<int64_t>(values.size()) != count)
    return fail(cat(attr_name(key), " must have ", count, " entries, but is ", shape_text(values)));
  if (std::any_of(values.begin(), values.end(), [least](int64_t value) { return value < least; }))
    return fail(cat(attr_name(key), " is ", shape_text(values), ", but no entry may be below ", least));
  return values;
}

Result<int64_t> InferenceCall::integer(uint32_t key, std::optional<int64_t> fallback, int64_t least,
                                       int64_t most) const {
  if (!attrs.has(key) && !fallback) return fail(cat("the attribute ", attr_name(key), " is missing"));
  const int64_t value = attrs.i64(key, fallback.value_or(0));
  if (value >= least && value <= most) return value;
  const std::string range = most == INT64_MAX ? cat("at least ", least) : cat(least, " to ", most);
  return fail(cat(attr_name(key), " is ", value, ", but must be ", range));
}

Result<bool> InferenceCall::flag(uint32_t key, bool fallback) const {
  BP_TRY_ASSIGN(const int64_t value, integer(key, fallback, 0, 1));
  return value == 1;
}

Result<std::string> InferenceCall::word(uint32_t key, std::initializer_list<std::string_view> words) const {
  std::string value = attrs.text(key, std::string(*words.begin()));
  if (std::find(words.begin(), words.end(), value) != words.end()) return value;
  const std::vector<std::string> known(words.begin(), words.end());
  return fail(
      cat(attr_name(key), " is '", value, "', but must be one of ", join(known, ", "), did_you_mean(value, known)));
}

Status InferenceCall::want_nonnegative(uint32_t key) const {
  const double value = attrs.f64(key, 0);
  if (std::isfinite(value) && value >= 0) return ok_status();
  return fail(cat(attr_name(key), " is ", value, ", but must be finite and not negative"));
}

Result<int64_t> InferenceCall::extent(Wide value, std::string_view what) const {
  if (value < 0) return fail(cat(what, " would be negative"));
  if (value > INT64_MAX) return fail(cat(what, " would be beyond 2^63"));
  return static_cast<int64_t>(value);
}

Result<Specs> infer_same(const InferenceCall& call) { return Specs{call.in(0)}; }

}  // namespace backplane
