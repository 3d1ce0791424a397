#include "unsupported_ops.hpp"

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

// A list of thousands of nodes helps nobody; what is left out is counted.
constexpr size_t kMaxNodesListed = 12;

}  // namespace

void UnsupportedOps::add(const NodeDef& node, const std::string& reason) {
  const std::string op = node.domain.empty() ? node.op : cat(node.domain, ".", node.op);
  std::string name = node.name;
  if (name.empty() && !node.outputs.empty()) name = node.outputs.front();
  nodes_[{op, reason}].push_back(cat("'", name, "'"));
}

Status UnsupportedOps::status(int64_t opset) const {
  std::string text = "these ops are not supported:";
  for (const auto& [key, names] : nodes_) {
    const auto& [op, reason] = key;
    const std::string version = op.find('.') == std::string::npos ? cat(" (opset ", opset, ")") : "";
    const size_t listed = std::min(names.size(), kMaxNodesListed);
    append_piece(text, cat("\n  ", op, version, " in ", names.size(),
                           names.size() == 1 ? " node: " : " nodes: ", join(std::span(names).first(listed), ", ")));
    if (listed < names.size()) append_piece(text, cat(" and ", names.size() - listed, " more"));
    if (!reason.empty()) append_piece(text, cat(": ", reason));
  }
  return unimplemented(std::move(text));
}

}  // namespace backplane::onnx_import
