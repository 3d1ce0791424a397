#include "function_table.hpp"

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {

Result<FunctionTable> FunctionTable::make(std::span<const FunctionDef> functions) {
  FunctionTable table;
  for (const FunctionDef& function : functions) {
    if (!table.functions_.try_emplace({function.domain, function.name, function.overload}, &function).second) {
      return invalid_argument(cat("function ", function.to_string(), " is defined twice"));
    }
  }
  return table;
}

const FunctionDef* FunctionTable::find(const NodeDef& node) const {
  const auto found = functions_.find({node.domain, node.op, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

}  // namespace backplane::onnx_import
