// UnsupportedOps: everything in a model that cannot be imported, for one error that lists it all.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"

namespace backplane::onnx_import {

class UnsupportedOps {
 public:
  // `op` with its version, the name of a node, and why it cannot be imported as it is used there (empty: at all).
  void add(std::string op, const std::string& node, std::string reason);
  bool empty() const { return nodes_.empty(); }
  // Unimplemented, naming ops, nodes and reasons.
  Status status() const;

 private:
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> nodes_;  // (op, reason) -> nodes
};

}  // namespace backplane::onnx_import
