// The graph in the making: what the parts of GraphBuilder share. Thread safety: none.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backplane/graph/builder.hpp"
#include "backplane/graph/graph_arrays.hpp"

namespace backplane {

struct GraphBuilder::State {
  GraphArrays arrays;
  std::vector<uint32_t> node_names;  // offsets into the text pool
  std::unordered_map<TensorId, HostTensor> constants;
  std::vector<Graph::Port> inputs, outputs;
  std::unordered_set<std::string> leaf_names, output_names;

  const bp_tensor& tensor(TensorId x) const { return arrays.tensors[x]; }
  DType dtype(TensorId x) const { return static_cast<DType>(tensor(x).dtype); }
  std::span<const int64_t> shape(TensorId x) const { return {arrays.i64.data() + tensor(x).shape_at, tensor(x).rank}; }
  std::span<const int64_t> strides(TensorId x) const {
    return {arrays.i64.data() + tensor(x).stride_at, tensor(x).rank};
  }
  TensorId root(TensorId x) const { return tensor(x).view_of == kNone ? x : tensor(x).view_of; }
  std::string text(TensorId x) const;

  // Errors: invalid_argument if there is no such tensor.
  Status check(TensorId x, std::string_view what) const;
  // Errors: resource_exhausted if the graph's 32-bit indices would not reach `more` further elements.
  Status check_room(uint64_t more) const;

  Result<TensorId> add_root(DType dtype, std::span<const int64_t> shape, uint32_t flags, std::string_view name);
  Result<TensorId> add_leaf(DType dtype, std::span<const int64_t> shape, uint32_t flags, std::string name);
  // A view of x whose first element lies `skip` bytes after x's.
  Result<TensorId> add_view(TensorId x, std::span<const int64_t> shape, std::vector<int64_t> strides, uint64_t skip);
};

}  // namespace backplane
