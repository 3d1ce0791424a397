// GraphArrays: the growing arrays behind a bp_graph, shared by GraphBuilder, Graph and Subgraph.
//
// Only appends; indices stay valid. Thread safety: as a std::vector.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backplane/abi/graph.h"
#include "backplane/graph/attrs.hpp"

namespace backplane {

struct GraphArrays {
  std::vector<bp_tensor> tensors;
  std::vector<bp_node> nodes;
  std::vector<bp_attr> attrs;
  std::vector<int64_t> i64;
  std::vector<uint32_t> u32;
  std::vector<double> f64;
  std::vector<char> text;

  // Appends a tensor with its shape and strides in the pools; returns its index. Other fields are taken as given.
  uint32_t add_tensor(bp_tensor record, std::span<const int64_t> shape, std::span<const int64_t> strides);
  // Appends a node whose attributes are those added since the last node.
  void add_node(bp_node record, std::span<const uint32_t> inputs, std::span<const uint32_t> outputs);
  void add_attr(const Attr& attr);
  // Appends a NUL-terminated text; returns its offset, or BP_NONE for an empty one.
  uint32_t add_text(std::string_view value);

  // Copies tensor `id` of another graph, with its name, as a view of `view_of` (BP_NONE = a root), unbound.
  uint32_t copy_tensor(const bp_graph& from, uint32_t id, uint32_t view_of);
  // Copies node `id` of another graph with its attributes; inputs and outputs are indices here.
  void copy_node(const bp_graph& from, uint32_t id, std::span<const uint32_t> inputs,
                 std::span<const uint32_t> outputs);

  // Whether the 32-bit indices still reach `more` further elements in every pool.
  bool has_room(uint64_t more) const;
  // A bp_graph over the arrays, valid until one of them grows; `inputs` and `outputs` at the given places of u32.
  bp_graph view(uint32_t in_at = 0, uint32_t in_count = 0, uint32_t out_at = 0, uint32_t out_count = 0) const;
  // The text at `at`; empty for BP_NONE.
  std::string_view text_at(uint32_t at) const { return at == BP_NONE ? std::string_view() : text.data() + at; }

 private:
  void copy_attr(const bp_graph& from, bp_attr attr);
  uint32_t attrs_taken_ = 0;  // attributes that belong to a node
};

}  // namespace backplane
