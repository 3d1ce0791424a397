// UnsupportedOps: everything in a model that cannot be imported, for one error that lists it all.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "model.hpp"

namespace backplane::onnx_import {

class UnsupportedOps {
 public:
  // A node whose op has no row in the lowering table.
  void add(const NodeDef& node) { add(node, {}); }
  // A node of a known op that cannot be imported as it is used here.
  void add(const NodeDef& node, const std::string& reason);
  bool empty() const { return nodes_.empty(); }
  // Unimplemented, naming ops, their version, nodes and reasons.
  Status status(int64_t opset) const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> nodes_;  // (op, reason) -> nodes
};

}  // namespace backplane::onnx_import
