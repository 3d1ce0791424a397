// InferenceCall: one question to the inference rules, with the checks and messages that rules share; and OpRule, the
// row of the tables in inference_*.cpp. Thread safety: const.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/graph/inference.hpp"

namespace backplane {

using Shape = std::vector<int64_t>;
using Specs = std::vector<TensorSpec>;
// Sums and products of two extents or attribute values cannot overflow it.
using Wide = __int128;

// Sets of element types, as docs/spec/ops.md names them.
enum class TypeSet { kFloat, kInt, kUnsigned, kNum, kBool, kAny, kNumOrBool, kIndex, kStored };

struct InferenceCall {
  Op op;
  std::span<const std::optional<TensorSpec>> inputs;
  const AttrList& attrs;

  bool has(size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  const TensorSpec& in(size_t i) const { return *inputs[i]; }  // REQUIRES: has(i)
  const Shape& shape(size_t i) const { return in(i).shape; }
  int64_t rank(size_t i) const { return static_cast<int64_t>(in(i).shape.size()); }
  DType dtype(size_t i) const { return in(i).dtype; }

  // invalid_argument "op: what was wrong; inputs: f32 [2, 3], absent".
  Status fail(std::string_view what) const;
  Status want_type(size_t i, TypeSet set) const;
  Status want_same_type(size_t i, size_t as) const;                                  // input i, if present
  Status want_shape(size_t i, const Shape& wanted, std::string_view meaning) const;  // input i, if present
  Status want_scalar(size_t i) const;                                                // input i, if present
  Status want_rank(size_t i, int64_t least, int64_t most) const;

  // An axis attribute within [0, rank); without a fallback it is required.
  Result<int64_t> axis(int64_t rank, std::optional<int64_t> fallback = {}) const;
  // Axes ascending, without repetition, within [0, rank).
  Result<std::vector<int64_t>> axes(int64_t rank) const;
  // A list of `count` values of at least `least`; all `fallback` if absent, required without one.
  Result<std::vector<int64_t>> list(uint32_t key, int64_t count, int64_t least, std::optional<int64_t> fallback) const;
  // An integer of at least `least` and at most `most`.
  Result<int64_t> integer(uint32_t key, std::optional<int64_t> fallback, int64_t least, int64_t most = INT64_MAX) const;
  Result<bool> flag(uint32_t key, bool fallback) const;
  // One of the words; the first is the default.
  Result<std::string> word(uint32_t key, std::initializer_list<std::string_view> words) const;
  // A finite number of at least 0.
  Status want_nonnegative(uint32_t key) const;
  // `value` as an extent. Errors: below 0 or beyond int64.
  Result<int64_t> extent(Wide value, std::string_view what) const;
};

bool in_set(DType dtype, TypeSet set);

using InferenceRule = Result<Specs> (*)(const InferenceCall&);

struct OpRule {
  Op op;
  size_t least_inputs;
  size_t most_inputs;  // of which those from least_inputs on may be absent
  TypeSet types;       // of input 0
  InferenceRule rule;
  std::vector<uint32_t> attrs;  // those that the op knows
};

inline constexpr size_t kAnyNumber = SIZE_MAX;

// The rule of an op of the family, or null.
std::span<const OpRule> movement_rules();
std::span<const OpRule> elementwise_rules();
std::span<const OpRule> reduction_rules();
std::span<const OpRule> index_rules();
std::span<const OpRule> linear_rules();
std::span<const OpRule> nn_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> quantize_rules();

// Inputs 0 and 1 are u8 or i8, inputs 2 and 3 their zero points, which broadcast to them.
Status check_integer_operands(const InferenceCall& call);

// Output 0 like input 0: the commonest rule.
Result<Specs> infer_same(const InferenceCall& call);

}  // namespace backplane
