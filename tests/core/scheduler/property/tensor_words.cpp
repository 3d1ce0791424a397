#include "tensor_words.hpp"

#include "backplane/sdk/graph_view.hpp"

namespace backplane::testing {

ByteRange byte_range(const Graph& graph, TensorId tensor) {
  const std::span<const int64_t> shape = graph.shape(tensor), strides = graph.strides(tensor);
  ByteRange range;
  range.begin = graph.is_view(tensor) ? graph.tensor(tensor).offset : 0;
  range.end = range.begin + sdk::type_layout(graph.tensor(tensor).dtype).block_bytes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return {};
    range.end += static_cast<uint64_t>((shape[axis] - 1) * strides[axis]);
  }
  return range;
}

}  // namespace backplane::testing
