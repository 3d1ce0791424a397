#include "node_context.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/reference/reference.hpp"

namespace backplane::onnx_import {
namespace {

Result<HostTensor> cast(HostTensor value, DType dtype) {
  if (value.dtype() == dtype) return value;
  const AttrList attrs{{BP_ATTR_TO, static_cast<int64_t>(dtype)}};
  BP_TRY_ASSIGN(std::vector<HostTensor> made, reference::evaluate(Op::kCAST, std::span(&value, 1), attrs));
  return std::move(made.at(0));
}

}  // namespace

Result<std::vector<int64_t>> NodeContext::in_i64s(size_t at) {
  if (!has(at)) return std::vector<int64_t>();
  BP_TRY_ASSIGN(HostTensor value, emit.constant_value(in(at)));
  if (!is_integer(value.dtype())) {
    return invalid_argument(cat("input ", at, " must be of an integer type, found ", value.to_string()));
  }
  BP_TRY_ASSIGN(const HostTensor wide, cast(std::move(value), DType::kI64));
  return std::vector<int64_t>(wide.data<int64_t>(), wide.data<int64_t>() + wide.elements());
}

Result<std::vector<double>> NodeContext::in_f64s(size_t at) {
  if (!has(at)) return std::vector<double>();
  BP_TRY_ASSIGN(HostTensor value, emit.constant_value(in(at)));
  BP_TRY_ASSIGN(const HostTensor wide, cast(std::move(value), DType::kF64));
  return std::vector<double>(wide.data<double>(), wide.data<double>() + wide.elements());
}

Result<int64_t> NodeContext::in_i64(size_t at) {
  BP_TRY_ASSIGN(const std::vector<int64_t> found, in_i64s(at));
  if (found.size() != 1) return invalid_argument(cat("input ", at, " must have one element, found ", found.size()));
  return found[0];
}

Status NodeContext::check_tensors(std::span<const TensorId> ids) const {
  for (const TensorId id : ids) {
    if (!is_tensor(id)) return invalid_argument(cat("it wants a tensor where it is given ", values.kind_text(id)));
  }
  return ok_status();
}

Result<bool> NodeContext::known_bool(TensorId condition) {
  Result<HostTensor> value = emit.constant_value(condition);
  if (!value.ok()) return value.status().with_context("its condition decides what there is to run");
  if (value->elements() != 1 || value->dtype() != DType::kBOOL) {
    return invalid_argument(cat("the condition must be one bool, found ", value->to_string()));
  }
  return *value->data<uint8_t>() != 0;
}

Result<std::vector<int64_t>> NodeContext::list(std::string_view key, size_t at, int64_t input_since) {
  if (opset_ >= input_since) return in_i64s(at);
  return i64s(key);
}

template <class T>
const T* NodeContext::attribute(std::string_view key, std::string_view wanted) {
  const AttributeDef::Value* value = node_.find(key);
  if (!value) return nullptr;
  if (const T* found = std::get_if<T>(value)) return found;
  if (fault_.ok()) fault_ = invalid_argument(cat("attribute '", key, "' must be ", wanted));
  return nullptr;
}

int64_t NodeContext::i64(std::string_view key, int64_t fallback) {
  const auto* found = attribute<int64_t>(key, "an integer");
  return found ? *found : fallback;
}

double NodeContext::f64(std::string_view key, double fallback) {
  const auto* found = attribute<double>(key, "a float");
  return found ? *found : fallback;
}

std::string NodeContext::text(std::string_view key, std::string fallback) {
  const auto* found = attribute<std::string>(key, "a string");
  if (found) return *found;
  return fallback;
}

std::vector<int64_t> NodeContext::i64s(std::string_view key) {
  const auto* found = attribute<std::vector<int64_t>>(key, "a list of integers");
  return found ? *found : std::vector<int64_t>();
}

std::vector<double> NodeContext::f64s(std::string_view key) {
  const auto* found = attribute<std::vector<double>>(key, "a list of floats");
  return found ? *found : std::vector<double>();
}

std::vector<std::string> NodeContext::texts(std::string_view key) {
  const auto* found = attribute<std::vector<std::string>>(key, "a list of strings");
  return found ? *found : std::vector<std::string>();
}

const HostTensor* NodeContext::tensor(std::string_view key) { return attribute<HostTensor>(key, "a tensor"); }

const GraphDef* NodeContext::graph(std::string_view key) {
  const auto* found = attribute<std::shared_ptr<const GraphDef>>(key, "a graph");
  return found ? found->get() : nullptr;
}

Status NodeContext::set(size_t at, const Result<TensorId>& made) {
  if (!made.ok()) return made.status();
  if (at < outputs_.size()) outputs_[at] = *made;
  return ok_status();
}

Status NodeContext::set_all(std::span<const TensorId> made) {
  if (made.size() < outputs_.size()) {
    return invalid_argument(cat("it has ", outputs_.size(), " outputs, but ", made.size(), " are made"));
  }
  std::copy_n(made.begin(), outputs_.size(), outputs_.begin());
  return ok_status();
}

Status NodeContext::set_text() {
  for (TensorId& id : outputs_) {
    if (id == kNone) continue;
    BP_TRY_ASSIGN(id, values.add_codes(id));
  }
  return ok_status();
}

Result<int64_t> NodeContext::axis_of(int64_t axis, int64_t rank) {
  const int64_t positive = axis < 0 ? axis + rank : axis;
  if (axis < -rank || positive >= rank) {
    return invalid_argument(cat("axis ", axis, " is outside a tensor of rank ", rank));
  }
  return positive;
}

Result<std::vector<int64_t>> NodeContext::axes_of(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) {
    BP_TRY_ASSIGN(axis, axis_of(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
    return invalid_argument(cat("axes ", shape_text(axes), " name one axis twice"));
  }
  return axes;
}

}  // namespace backplane::onnx_import
