#include "backplane/graph/subgraph.hpp"

#include "structural_hash.hpp"

namespace backplane {

Subgraph::Subgraph(const Graph& graph, std::span<const NodeId> nodes) {
  add_nodes(graph, nodes);
  add_ports(graph);
}

// Local indices follow the first use by the nodes, so that equal layers of a model get equal keys.
void Subgraph::add_tensor(const Graph& graph, TensorId id) {
  if (id == kNone || locals_.count(id)) return;
  const bp_tensor& tensor = graph.tensor(id);
  uint32_t root = kNone;
  if (tensor.view_of != kNone) {
    add_tensor(graph, tensor.view_of);  // a root: at most one step deep
    root = local(tensor.view_of);
  }
  const uint32_t index = arrays_.copy_tensor(graph.abi(), id, root);
  locals_.emplace(id, index);
  tensors_.push_back(id);
  view_offsets_.push_back(root == kNone ? 0 : tensor.offset);
  next_view_.push_back(kNone);
  if (root == kNone) return;
  next_view_[index] = next_view_[root];
  next_view_[root] = index;
}

void Subgraph::add_nodes(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<uint32_t> inputs, outputs;
  for (NodeId n : nodes) {
    inputs.clear();
    outputs.clear();
    for (TensorId t : graph.node_inputs(n)) {
      add_tensor(graph, t);
      inputs.push_back(local(t));
    }
    for (TensorId t : graph.node_outputs(n)) {
      add_tensor(graph, t);
      outputs.push_back(local(t));
    }
    arrays_.copy_node(graph.abi(), n, inputs, outputs);
    arrays_.nodes.back().tag = n;
  }
}

void Subgraph::add_ports(const Graph& graph) {
  std::vector<bool> written(tensors_.size());
  std::vector<uint32_t> reads(tensors_.size());
  const auto root_of = [this](uint32_t index) {
    const uint32_t root = arrays_.tensors[index].view_of;
    return root == kNone ? index : root;
  };
  for (const bp_node& node : arrays_.nodes) {
    for (uint32_t i = 0; i < node.in_count; ++i)
      if (const uint32_t t = arrays_.u32[node.in_at + i]; t != kNone) ++reads[root_of(t)];
    for (uint32_t i = 0; i < node.out_count; ++i)
      if (const uint32_t t = arrays_.u32[node.out_at + i]; t != kNone) written[root_of(t)] = true;
  }
  std::vector<uint32_t> ins, outs;
  for (uint32_t index = 0; index < tensors_.size(); ++index) {
    if (arrays_.tensors[index].view_of != kNone) continue;
    const Storage& storage = graph.storage(graph.storage_of(tensors_[index]));
    const bool state = storage.flags & BP_TENSOR_STATE;
    if (!written[index] || state) ins.push_back(index);
    if (written[index] && (state || (storage.flags & BP_TENSOR_OUTPUT) || storage.reads > reads[index]))
      outs.push_back(index);
  }
  const auto at = static_cast<uint32_t>(arrays_.u32.size());
  arrays_.u32.insert(arrays_.u32.end(), ins.begin(), ins.end());
  arrays_.u32.insert(arrays_.u32.end(), outs.begin(), outs.end());
  abi_ = arrays_.view(at, static_cast<uint32_t>(ins.size()), at + static_cast<uint32_t>(ins.size()),
                      static_cast<uint32_t>(outs.size()));
  abi_.key = structural_hash(abi_);
}

uint32_t Subgraph::local(TensorId id) const {
  const auto it = locals_.find(id);
  return it == locals_.end() ? kNone : it->second;
}

void Subgraph::bind(uint32_t local, bp_buffer* buffer, uint64_t offset) {
  for (uint32_t t = local; t != kNone; t = next_view_[t]) {
    arrays_.tensors[t].buffer = buffer;
    arrays_.tensors[t].offset = (buffer ? offset : 0) + view_offsets_[t];
  }
}

}  // namespace backplane
