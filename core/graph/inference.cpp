#include "backplane/graph/inference.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

const OpRule* find_rule(Op op) {
  for (const auto rules : {movement_rules(), elementwise_rules(), reduction_rules(), index_rules(), linear_rules(),
                           nn_rules(), recurrent_rules(), attention_rules(), quantize_rules()}) {
    for (const OpRule& rule : rules)
      if (rule.op == op) return &rule;
  }
  return nullptr;
}

// The index in AttrValue of the type that attrs.def gives the key; AttrValue's size for an unknown key.
size_t wanted_index(uint32_t key) {
  enum { I64, F64, TEXT, I64S, F64S };
  switch (key) {
#define BP_ATTR(NAME, id, name, type) \
  case id:                            \
    return type;
#include "backplane/abi/attrs.def"
#undef BP_ATTR
    default:
      return std::variant_size_v<AttrValue>;
  }
}

// A misspelt or mistyped attribute would silently become its default: a wrong number.
Status check_attrs(const InferenceCall& call, const OpRule& rule) {
  for (const Attr& attr : call.attrs.items()) {
    if (std::find(rule.attrs.begin(), rule.attrs.end(), attr.key) == rule.attrs.end())
      return call.fail(cat("the op has no attribute ", attr_name(attr.key), " (key ", attr.key, ")"));
    if (attr.value.index() != wanted_index(attr.key))
      return call.fail(cat("the attribute ", attr_name(attr.key), " has a value of the wrong type"));
  }
  return ok_status();
}

Status check_inputs(const InferenceCall& call, const OpRule& rule) {
  const size_t count = call.inputs.size();
  if (count < rule.least_inputs || count > rule.most_inputs) {
    const std::string most = rule.most_inputs == kAnyNumber ? "or more" : cat("to ", rule.most_inputs);
    return call.fail(cat("takes ", rule.least_inputs, " ", most, " inputs, but has ", count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!call.has(i)) {
      if (i < rule.least_inputs) return call.fail(cat("input ", i, " is missing"));
      continue;
    }
    auto bytes = dense_bytes(call.dtype(i), call.shape(i));
    if (!bytes.ok()) return call.fail(cat("input ", i, ": ", bytes.status().message()));
  }
  return call.want_type(0, rule.types);
}

}  // namespace

Result<std::vector<TensorSpec>> infer(Op op, std::span<const std::optional<TensorSpec>> inputs, const AttrList& attrs) {
  const OpRule* rule = find_rule(op);
  if (!rule)
    return unimplemented(cat(op_name(op), " (op ", static_cast<uint32_t>(op), "): the op set has no definition of it"));
  const InferenceCall call{op, inputs, attrs};
  BP_TRY(check_attrs(call, *rule));
  BP_TRY(check_inputs(call, *rule));
  BP_TRY_ASSIGN(Specs outputs, rule->rule(call));
  for (const TensorSpec& output : outputs) {
    auto bytes = dense_bytes(output.dtype, output.shape);
    if (!bytes.ok()) return call.fail(cat("output: ", bytes.status().message()));
  }
  return outputs;
}

Result<std::vector<int64_t>> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b) {
  std::vector<int64_t> shape(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= shape.size(); ++back) {
    const int64_t x = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1)
      return invalid_argument(cat("shapes ", shape_text(a), " and ", shape_text(b), " do not broadcast: extents ", x,
                                  " and ", y, " differ and neither is 1"));
    shape[shape.size() - back] = x == 1 ? y : x;
  }
  return shape;
}

}  // namespace backplane
