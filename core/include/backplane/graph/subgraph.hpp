// Subgraph: some nodes of a Graph as a bp_graph of their own, to be queried, compiled or submitted.
//
// Tensors that the nodes touch, and the roots of views among them, get local indices. A tensor written by one of the
// nodes is internal or an output; others are inputs. Bindings can be set and changed at any time.
// Ownership: borrows nothing of the Graph after construction. Thread safety: as a value.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "backplane/graph/graph.hpp"

namespace backplane {

class Subgraph {
 public:
  // `nodes` in topological order. Tensors read after the nodes (graph outputs, or inputs of nodes not listed) are the
  // subgraph's outputs.
  Subgraph(const Graph& graph, std::span<const NodeId> nodes);
  Subgraph(Subgraph&&) noexcept = default;
  Subgraph& operator=(Subgraph&&) noexcept = default;

  const bp_graph& abi() const { return abi_; }                       // valid until the Subgraph is moved or destroyed
  const std::vector<TensorId>& tensors() const { return tensors_; }  // local index -> graph's tensor
  uint32_t local(TensorId id) const;                                 // kNone if not part of it
  // Puts a root tensor, and with it its views, at `offset` of `buffer`. REQUIRES: local is a root.
  void bind(uint32_t local, bp_buffer* buffer, uint64_t offset);

 private:
  void add_tensor(const Graph& graph, TensorId id);
  void add_nodes(const Graph& graph, std::span<const NodeId> nodes);
  void add_ports(const Graph& graph);

  std::vector<TensorId> tensors_;
  std::unordered_map<TensorId, uint32_t> locals_;
  GraphArrays arrays_;
  std::vector<uint64_t> view_offsets_;  // of each tensor within its root
  std::vector<uint32_t> next_view_;     // a root's list of views: the next local index, or kNone
  bp_graph abi_{};
};

}  // namespace backplane
