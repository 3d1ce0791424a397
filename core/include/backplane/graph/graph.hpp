// Graph: a finished tensor graph. Immutable, hashed, and stored as the very arrays that cross the ABI.
//
// Tensors, nodes and storages have dense ids. A *storage* is the memory behind a tensor and all its views; placement,
// copies, lifetimes and in-place reuse work on storages. Nodes stand in topological order; views are tensors, not
// nodes. Build one with GraphBuilder. Ownership: constants are shared with whoever made them.
// Thread safety: const, from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/abi/graph.h"
#include "backplane/graph/graph_arrays.hpp"
#include "backplane/graph/host_tensor.hpp"
#include "backplane/graph/types.hpp"

namespace backplane {

struct Storage {
  TensorId root;   // the tensor that is not a view
  uint64_t bytes;  // of the root
  uint32_t flags;  // BP_TENSOR_* of the root and all its views, united
  NodeId writer;   // the node that first writes it, or kNone: input, constant, state
  uint32_t reads;  // inputs of nodes that are the root or one of its views
};

class Graph {
 public:
  struct Port {
    std::string name;
    TensorId tensor;
  };

  uint32_t tensor_count() const { return static_cast<uint32_t>(arrays_.tensors.size()); }
  uint32_t node_count() const { return static_cast<uint32_t>(arrays_.nodes.size()); }
  uint32_t storage_count() const { return static_cast<uint32_t>(storages_.size()); }

  const bp_tensor& tensor(TensorId id) const { return arrays_.tensors[id]; }
  DType dtype(TensorId id) const { return static_cast<DType>(tensor(id).dtype); }
  std::span<const int64_t> shape(TensorId id) const {
    return {arrays_.i64.data() + tensor(id).shape_at, tensor(id).rank};
  }
  std::span<const int64_t> strides(TensorId id) const {
    return {arrays_.i64.data() + tensor(id).stride_at, tensor(id).rank};
  }
  std::string_view tensor_name(TensorId id) const;  // may be empty
  // "x: f32 [1, 3]" for messages.
  std::string tensor_text(TensorId id) const;
  bool is_view(TensorId id) const { return tensor(id).view_of != BP_NONE; }
  StorageId storage_of(TensorId id) const { return storage_of_[id]; }
  const Storage& storage(StorageId id) const { return storages_[id]; }

  const bp_node& node(NodeId id) const { return arrays_.nodes[id]; }
  Op op(NodeId id) const { return static_cast<Op>(node(id).op); }
  // Tensor ids, kNone where absent.
  std::span<const TensorId> node_inputs(NodeId id) const {
    return {arrays_.u32.data() + node(id).in_at, node(id).in_count};
  }
  std::span<const TensorId> node_outputs(NodeId id) const {
    return {arrays_.u32.data() + node(id).out_at, node(id).out_count};
  }
  std::string_view node_name(NodeId id) const;  // may be empty

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  // The port of that name, or null.
  const Port* find_input(std::string_view name) const;
  const Port* find_output(std::string_view name) const;

  // No node writes a constant.
  bool is_constant(StorageId id) const { return (storages_[id].flags & BP_TENSOR_WEIGHT) != 0; }
  // The value of a constant storage, or a null tensor.
  const HostTensor& constant(StorageId id) const;

  // The dense value of a tensor, from the bytes of its storage. REQUIRES: as many bytes as the storage has.
  Result<HostTensor> dense_value(TensorId id, std::span<const std::byte> storage_bytes) const;

  // The whole graph, unbound; valid while the Graph lives. Its inputs are those of inputs(), then constants and states.
  const bp_graph& abi() const { return abi_; }
  // Structural hash: every op, attribute, type, shape, stride, edge and flag; no names, no constant values.
  uint64_t key() const { return abi_.key; }

  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

 private:
  friend class GraphBuilder;
  Graph() = default;
  void seal();  // fills abi_ and storages_ once arrays, ports and constants are final

  GraphArrays arrays_;
  std::vector<uint32_t> node_names_;  // offsets into the text pool, or kNone
  std::vector<StorageId> storage_of_;
  std::vector<Storage> storages_;
  std::vector<HostTensor> constants_;  // per storage; null = not a constant
  std::vector<Port> inputs_, outputs_;
  bp_graph abi_{};
};

}  // namespace backplane
