// FunctionTable: a model's functions by name. Thread safety: const after construction.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <tuple>

#include "backplane/base/status.hpp"
#include "model.hpp"

namespace backplane::onnx_import {

class FunctionTable {
 public:
  // Errors: invalid_argument for two functions of one name.
  static Result<FunctionTable> make(std::span<const FunctionDef> functions);  // which outlive the table

  // The function that a node calls, or null.
  const FunctionDef* find(const NodeDef& node) const;

 private:
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const FunctionDef*> functions_;
};

}  // namespace backplane::onnx_import
