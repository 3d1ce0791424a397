// Scope: which tensor a name of an ONNX graph stands for. Scopes of branches see the names of those around them.
// Thread safety: one importer, one thread.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "backplane/base/status.hpp"
#include "backplane/graph/types.hpp"

namespace backplane::onnx_import {

// What the outputs of a node that could not be imported stand for.
inline constexpr TensorId kUnavailable = kNone - 1;

class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}  // `outer` outlives the scope

  // kNone: an input of a function that the call leaves out. Errors: invalid_argument for a name that this very scope
  // has already.
  Status define(const std::string& name, TensorId tensor);
  std::optional<TensorId> find(const std::string& name) const;

 private:
  const Scope* outer_;
  std::unordered_map<std::string, TensorId> tensors_;
};

}  // namespace backplane::onnx_import
