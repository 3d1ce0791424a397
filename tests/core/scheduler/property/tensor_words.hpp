// The words (4 bytes) of its storage that a tensor covers. Pools give every storage whole words, so that words are as
// exact as bytes for tensors of i32; those of bool are only ever read and written whole. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "backplane/graph/graph.hpp"

namespace backplane::testing {

inline constexpr uint64_t kWordBytes = 4;

// Calls body(word) for each element, in row-major order; repeated elements of broadcast axes once.
template <class Body>
void for_each_word(const Graph& graph, TensorId tensor, const Body& body) {
  const std::span<const int64_t> shape = graph.shape(tensor), strides = graph.strides(tensor);
  const auto walk = [&](const auto& self, size_t axis, uint64_t byte) -> void {
    if (axis == shape.size()) return body(byte / kWordBytes);
    const int64_t extent = strides[axis] == 0 ? (shape[axis] == 0 ? 0 : 1) : shape[axis];
    for (int64_t i = 0; i < extent; ++i) self(self, axis + 1, byte + static_cast<uint64_t>(i * strides[axis]));
  };
  walk(walk, 0, graph.is_view(tensor) ? graph.tensor(tensor).offset : 0);
}

// The bytes from the first to behind the last element; both 0 if there are none.
struct ByteRange {
  uint64_t begin = 0, end = 0;
  bool overlaps(const ByteRange& other) const { return begin < other.end && other.begin < end; }
};
ByteRange byte_range(const Graph& graph, TensorId tensor);

}  // namespace backplane::testing
