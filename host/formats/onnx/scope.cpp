#include "scope.hpp"

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {

Status Scope::define(const std::string& name, TensorId tensor) {
  if (tensors_.emplace(name, tensor).second) return ok_status();
  return invalid_argument(cat("the name '", name, "' is defined twice; names of an ONNX graph must be unique"));
}

std::optional<TensorId> Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope; scope = scope->outer_) {
    if (const auto found = scope->tensors_.find(name); found != scope->tensors_.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace backplane::onnx_import
