#include "generated_graph.hpp"

#include "backplane/base/text.hpp"

namespace backplane::testing {
namespace {

std::string operand_text(const Graph& graph, TensorId tensor) {
  if (tensor == kNone) return "-";
  std::string text = cat("t", tensor, "=", graph.tensor_text(tensor), "@s", graph.storage_of(tensor));
  if (graph.is_view(tensor)) text += cat("+", graph.tensor(tensor).offset);
  return text;
}

std::string operands_text(const Graph& graph, std::span<const TensorId> tensors) {
  std::string text;
  for (const TensorId tensor : tensors) text += (text.empty() ? "" : ", ") + operand_text(graph, tensor);
  return text;
}

}  // namespace

std::string graph_text(const Graph& graph) {
  std::string text;
  for (const Graph::Port& input : graph.inputs()) text += cat("input ", operand_text(graph, input.tensor), "\n");
  for (NodeId node = 0; node < graph.node_count(); ++node)
    text += cat("n", node, " ", op_name(graph.op(node)), "(", operands_text(graph, graph.node_inputs(node)), ") -> ",
                operands_text(graph, graph.node_outputs(node)), "\n");
  for (const Graph::Port& output : graph.outputs())
    text += cat("output ", output.name, " ", operand_text(graph, output.tensor), "\n");
  return text;
}

}  // namespace backplane::testing
