#include <utility>

#include "builder_state.hpp"

namespace backplane {
namespace {

struct Needed {
  std::vector<bool> tensors, nodes;
};

}  // namespace

// Copies what is needed of a State into a Graph.
struct GraphBuilder::Finisher {
  State& state;
  Graph& graph;
  Needed needed;
  std::vector<TensorId> renumbered;

  void need(TensorId x) {
    needed.tensors[x] = true;
    needed.tensors[state.root(x)] = true;
  }

  std::span<const TensorId> inputs(const bp_node& node) const {
    return {state.arrays.u32.data() + node.in_at, node.in_count};
  }
  std::span<const TensorId> outputs(const bp_node& node) const {
    return {state.arrays.u32.data() + node.out_at, node.out_count};
  }

  bool is_needed(const bp_node& node) const {
    if (node.flags & BP_NODE_SIDE_EFFECT) return true;
    for (TensorId t : outputs(node))
      if (t != kNone && needed.tensors[t]) return true;
    return false;
  }

  // Creation order is topological, so one sweep from the end finds everything.
  void find_needed() {
    needed.tensors.resize(state.arrays.tensors.size());
    needed.nodes.resize(state.arrays.nodes.size());
    for (const Graph::Port& port : state.inputs) need(port.tensor);
    for (const Graph::Port& port : state.outputs) need(port.tensor);
    for (size_t n = state.arrays.nodes.size(); n-- > 0;) {
      const bp_node& node = state.arrays.nodes[n];
      if (!is_needed(node)) continue;
      needed.nodes[n] = true;
      for (TensorId t : inputs(node))
        if (t != kNone) need(t);
      if (!(node.flags & BP_NODE_SIDE_EFFECT)) continue;
      for (TensorId t : outputs(node))
        if (t != kNone) need(t);
    }
  }

  void copy_tensors() {
    const bp_graph from = state.arrays.view();
    renumbered.assign(state.arrays.tensors.size(), kNone);
    for (TensorId t = 0; t < state.arrays.tensors.size(); ++t) {
      if (!needed.tensors[t]) continue;
      const TensorId root = state.tensor(t).view_of;
      renumbered[t] = graph.arrays_.copy_tensor(from, t, root == kNone ? kNone : renumbered[root]);
    }
  }

  void copy_nodes() {
    const bp_graph from = state.arrays.view();
    std::vector<TensorId> ins, outs;
    for (NodeId n = 0; n < state.arrays.nodes.size(); ++n) {
      if (!needed.nodes[n]) continue;
      ins.clear();
      outs.clear();
      for (TensorId t : inputs(state.arrays.nodes[n])) ins.push_back(t == kNone ? kNone : renumbered[t]);
      for (TensorId t : outputs(state.arrays.nodes[n])) outs.push_back(t == kNone ? kNone : renumbered[t]);
      while (outs.back() == kNone) outs.pop_back();
      graph.arrays_.copy_node(from, n, ins, outs);
      graph.arrays_.nodes.back().tag = graph.arrays_.nodes.size() - 1;
      graph.node_names_.push_back(graph.arrays_.add_text(state.arrays.text_at(state.node_names[n])));
    }
  }

  void make_ports() {
    const auto renumber = [this](std::vector<Graph::Port> ports) {
      for (Graph::Port& port : ports) port.tensor = renumbered[port.tensor];
      return ports;
    };
    graph.inputs_ = renumber(std::move(state.inputs));
    graph.outputs_ = renumber(std::move(state.outputs));
    for (const Graph::Port& port : graph.outputs_) {
      bp_tensor& tensor = graph.arrays_.tensors[port.tensor];
      tensor.flags |= BP_TENSOR_OUTPUT;
      if (tensor.name_at == BP_NONE) tensor.name_at = graph.arrays_.add_text(port.name);
    }
  }

  void make_storages() {
    graph.storage_of_.resize(graph.arrays_.tensors.size());
    for (TensorId t = 0; t < graph.arrays_.tensors.size(); ++t) {
      const bp_tensor& tensor = graph.arrays_.tensors[t];
      if (tensor.view_of == kNone) {
        graph.storage_of_[t] = static_cast<StorageId>(graph.storages_.size());
        graph.storages_.push_back({t, tensor.bytes, tensor.flags, kNone, 0});
      } else {
        graph.storage_of_[t] = graph.storage_of_[tensor.view_of];
        graph.storages_[graph.storage_of_[t]].flags |= tensor.flags;
      }
    }
    graph.constants_.resize(graph.storages_.size());
    for (auto& [t, value] : state.constants)
      if (needed.tensors[t]) graph.constants_[graph.storage_of_[renumbered[t]]] = std::move(value);
  }
};

Result<std::shared_ptr<const Graph>> GraphBuilder::finish() {
  const std::unique_ptr<State> state = std::exchange(state_, std::make_unique<State>());
  std::shared_ptr<Graph> graph(new Graph);
  Finisher finisher{*state, *graph, {}, {}};
  finisher.find_needed();
  finisher.copy_tensors();
  finisher.copy_nodes();
  finisher.make_ports();
  // Ports take room in the index pool, names of outputs in the text pool; all else was checked when it was added.
  if (!graph->arrays_.has_room(graph->arrays_.tensors.size() + graph->outputs_.size()))
    return resource_exhausted("the graph is full: its 32-bit indices reach no further; split the model");
  finisher.make_storages();
  graph->seal();
  return std::shared_ptr<const Graph>(std::move(graph));
}

}  // namespace backplane
