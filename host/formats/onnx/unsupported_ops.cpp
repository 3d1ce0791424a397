#include "unsupported_ops.hpp"

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

// A list of thousands of nodes helps nobody; what is left out is counted.
constexpr size_t kMaxNodesListed = 12;

}  // namespace

void UnsupportedOps::add(std::string op, const std::string& node, std::string reason) {
  nodes_[{std::move(op), std::move(reason)}].push_back(cat("'", node, "'"));
}

Status UnsupportedOps::status() const {
  std::string text = "these ops are not supported:";
  for (const auto& [key, names] : nodes_) {
    const auto& [op, reason] = key;
    const size_t listed = std::min(names.size(), kMaxNodesListed);
    append_piece(text, cat("\n  ", op, " in ", names.size(),
                           names.size() == 1 ? " node: " : " nodes: ", join(std::span(names).first(listed), ", ")));
    if (listed < names.size()) append_piece(text, cat(" and ", names.size() - listed, " more"));
    if (!reason.empty()) append_piece(text, cat(": ", reason));
  }
  return unimplemented(std::move(text));
}

}  // namespace backplane::onnx_import
