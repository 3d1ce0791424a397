#include "scheduler/plan/row_indices.hpp"

#include "backplane/sdk/graph_view.hpp"

namespace backplane {

TensorId row_indices(const Graph& graph, NodeId node, TensorId weight) {
  if (graph.op(node) != Op::kGATHER || graph.is_view(weight) || graph.node_inputs(node)[0] != weight) return kNone;
  const auto rank = static_cast<int64_t>(graph.shape(weight).size());
  const int64_t axis = sdk::NodeView(graph.abi(), node).i64(BP_ATTR_AXIS, 0);
  if (rank == 0 || (axis != 0 && axis != -rank) || graph.shape(weight)[0] == 0) return kNone;
  const TensorId indices = graph.node_inputs(node)[1];
  return graph.storage_of(indices) == graph.storage_of(weight) ? kNone : indices;
}

}  // namespace backplane
