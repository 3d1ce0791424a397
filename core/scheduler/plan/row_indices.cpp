#include "scheduler/plan/row_indices.hpp"

#include "backplane/sdk/graph_view.hpp"

namespace backplane {

TensorId row_indices(const Graph& graph, NodeId node, TensorId weight) {
  const bool by_id = graph.op(node) == Op::kMATMUL_ID;
  if ((!by_id && graph.op(node) != Op::kGATHER) || graph.is_view(weight)) return kNone;
  const std::span<const TensorId> inputs = graph.node_inputs(node);
  const size_t place = by_id ? 1 : 0;  // of the weight; the indices stand behind it
  const auto rank = static_cast<int64_t>(graph.shape(weight).size());
  const int64_t axis = by_id ? 0 : sdk::NodeView(graph.abi(), node).i64(BP_ATTR_AXIS, 0);
  if (inputs[place] != weight || rank == 0 || (axis != 0 && axis != -rank) || graph.shape(weight)[0] == 0) return kNone;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (i != place && graph.storage_of(inputs[i]) == graph.storage_of(weight)) return kNone;  // reads it otherwise too
  return inputs[place + 1];
}

}  // namespace backplane
