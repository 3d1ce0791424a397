// Dependencies: which nodes must stay before which, whatever the order of the others.
//
// A read comes after the write before it, a write after the reads and the write before it, of the same storage; nodes
// whose effects are elsewhere keep their order. Thread safety: const.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/graph/graph.hpp"

namespace backplane {

class Dependencies {
 public:
  explicit Dependencies(const Graph& graph);

  // A node stands there once for each reason.
  std::span<const NodeId> after(NodeId node) const { return part(after_, after_at_, node); }
  std::span<const NodeId> before(NodeId node) const { return part(before_, before_at_, node); }

 private:
  static std::span<const NodeId> part(const std::vector<NodeId>& all, const std::vector<uint32_t>& at, NodeId node) {
    return {all.data() + at[node], at[node + 1] - at[node]};
  }

  std::vector<NodeId> after_, before_;
  std::vector<uint32_t> after_at_, before_at_;  // by node, and one more
};

}  // namespace backplane
