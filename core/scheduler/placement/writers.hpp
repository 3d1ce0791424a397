// Which node first writes each storage, states included. Thread safety: a pure function.
#pragma once

#include <vector>

#include "backplane/graph/graph.hpp"

namespace backplane {

// By storage; kNone for what nothing writes.
inline std::vector<NodeId> first_writers(const Graph& graph) {
  std::vector<NodeId> writers(graph.storage_count(), kNone);
  for (NodeId node = graph.node_count(); node-- > 0;)
    for (const TensorId output : graph.node_outputs(node))
      if (output != kNone) writers[graph.storage_of(output)] = node;
  return writers;
}

}  // namespace backplane
