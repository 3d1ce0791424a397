// Row indices: nodes that read only some rows of a weight, such as the experts that a router chose.
// Thread safety: a pure function.
#pragma once

#include "backplane/graph/graph.hpp"

namespace backplane {

// The indices by which a node reads whole rows of `weight`, if that is how it reads it; else kNone.
TensorId row_indices(const Graph& graph, NodeId node, TensorId weight);

}  // namespace backplane
