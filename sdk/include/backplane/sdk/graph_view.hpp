// GraphView, NodeView, TensorView: reading a bp_graph from C++.
//
// `GraphView::check` validates a graph from outside once, bounds and all; the accessors then read it without checks.
// Views are small values that borrow the graph. Thread safety: const.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backplane/abi/graph.h"
#include "backplane/sdk/error.hpp"

namespace backplane::sdk {

struct TypeLayout {
  uint32_t block_elements;
  uint32_t block_bytes;
};

// Layout of an element type of types.def; {0, 0} for an unknown one.
inline TypeLayout type_layout(uint32_t dtype) {
  switch (dtype) {
#define BP_TYPE(NAME, id, name, block_elements, block_bytes) \
  case id:                                                   \
    return {block_elements, block_bytes};
#include "backplane/abi/types.def"
#undef BP_TYPE
    default:
      return {0, 0};
  }
}

inline const char* type_name(uint32_t dtype) {
  switch (dtype) {
#define BP_TYPE(NAME, id, name, block_elements, block_bytes) \
  case id:                                                   \
    return #name;
#include "backplane/abi/types.def"
#undef BP_TYPE
    default:
      return "unknown";
  }
}

inline const char* op_name(uint32_t op) {
  switch (op) {
#define BP_OP(NAME, id, name, version) \
  case id:                             \
    return #name;
#include "backplane/abi/ops.def"
#undef BP_OP
    default:
      return "unknown";
  }
}

class TensorView {
 public:
  TensorView(const bp_graph& graph, uint32_t index)
      : graph_(&graph), record_(bp_tensor_at(&graph, index)), index_(index) {}

  uint32_t index() const { return index_; }
  const bp_tensor& record() const { return *record_; }
  uint32_t dtype() const { return record_->dtype; }
  uint32_t rank() const { return record_->rank; }
  std::span<const int64_t> shape() const { return {graph_->i64 + record_->shape_at, record_->rank}; }
  std::span<const int64_t> strides() const { return {graph_->i64 + record_->stride_at, record_->rank}; }
  bool is_view() const { return record_->view_of != BP_NONE; }
  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t extent : shape()) count *= extent;
    return count;
  }
  // Whether the elements lie one after another, outermost axis first, without gaps. Axes of extent 1 are ignored.
  bool dense() const {
    const TypeLayout layout = type_layout(dtype());
    int64_t expected = layout.block_bytes;
    for (uint32_t axis = rank(); axis-- > 0;) {
      const int64_t extent =
          axis + 1 == rank() && layout.block_elements > 1 ? shape()[axis] / layout.block_elements : shape()[axis];
      if (extent == 0) return true;
      if (extent != 1 && strides()[axis] != expected) return false;
      expected *= extent;
    }
    return true;
  }
  std::string_view name() const {
    return record_->name_at == BP_NONE ? std::string_view() : std::string_view(graph_->text + record_->name_at);
  }

 private:
  const bp_graph* graph_;
  const bp_tensor* record_;
  uint32_t index_;
};

class NodeView {
 public:
  NodeView(const bp_graph& graph, uint32_t index) : graph_(&graph), record_(bp_node_at(&graph, index)), index_(index) {}

  uint32_t index() const { return index_; }
  const bp_graph& graph() const { return *graph_; }
  const bp_node& record() const { return *record_; }
  uint32_t op() const { return record_->op; }
  uint32_t input_count() const { return record_->in_count; }
  uint32_t output_count() const { return record_->out_count; }
  uint32_t input_index(uint32_t i) const { return graph_->u32[record_->in_at + i]; }
  uint32_t output_index(uint32_t i) const { return graph_->u32[record_->out_at + i]; }
  bool has_input(uint32_t i) const { return i < input_count() && input_index(i) != BP_NONE; }
  bool has_output(uint32_t i) const { return i < output_count() && output_index(i) != BP_NONE; }
  // REQUIRES: has_input(i) / has_output(i).
  TensorView input(uint32_t i) const { return {*graph_, input_index(i)}; }
  TensorView output(uint32_t i) const { return {*graph_, output_index(i)}; }

  uint32_t attr_count() const { return record_->attr_count; }
  const bp_attr& attr(uint32_t i) const { return *bp_attr_at(graph_, record_->attr_at + i); }
  const bp_attr* find(uint32_t key) const {
    for (uint32_t i = 0; i < attr_count(); ++i)
      if (attr(i).key == key) return &attr(i);
    return nullptr;
  }
  // The attribute's value, or the fallback if it is absent. Throws BP_E_INVALID_ARG if it has another type.
  int64_t i64(uint32_t key, int64_t fallback) const {
    const bp_attr* a = typed(key, BP_ATTR_TYPE_I64);
    return a != nullptr ? a->i : fallback;
  }
  double f64(uint32_t key, double fallback) const {
    const bp_attr* a = typed(key, BP_ATTR_TYPE_F64);
    return a != nullptr ? a->f : fallback;
  }
  std::string_view text(uint32_t key, std::string_view fallback) const {
    const bp_attr* a = typed(key, BP_ATTR_TYPE_TEXT);
    return a != nullptr ? std::string_view(graph_->text + a->at, a->count) : fallback;
  }
  std::span<const int64_t> i64s(uint32_t key) const {
    const bp_attr* a = typed(key, BP_ATTR_TYPE_I64S);
    return a != nullptr ? std::span<const int64_t>(graph_->i64 + a->at, a->count) : std::span<const int64_t>();
  }
  std::span<const double> f64s(uint32_t key) const {
    const bp_attr* a = typed(key, BP_ATTR_TYPE_F64S);
    return a != nullptr ? std::span<const double>(graph_->f64 + a->at, a->count) : std::span<const double>();
  }
  // The first attribute that is neither in `known` nor ignorable, or null: such a node must be refused.
  const bp_attr* unknown_attr(std::span<const uint32_t> known) const {
    for (uint32_t i = 0; i < attr_count(); ++i) {
      bool found = (attr(i).flags & BP_ATTR_FLAG_IGNORABLE) != 0;
      for (const uint32_t key : known) found = found || key == attr(i).key;
      if (!found) return &attr(i);
    }
    return nullptr;
  }

 private:
  const bp_attr* typed(uint32_t key, uint32_t type) const {
    const bp_attr* a = find(key);
    if (a != nullptr && a->type != type)
      throw Error(BP_E_INVALID_ARG, std::string("attribute ") + std::to_string(key) + " of op " + op_name(op()) +
                                        " has type " + std::to_string(a->type) + ", wanted " + std::to_string(type));
    return a;
  }

  const bp_graph* graph_;
  const bp_node* record_;
  uint32_t index_;
};

class GraphView {
 public:
  // Borrows a graph that `check` has passed.
  explicit GraphView(const bp_graph& graph) : graph_(&graph) {}

  // Validates head, strides, every index and every extent; throws BP_E_INVALID_ARG naming the fault.
  static GraphView check(const bp_graph* graph);

  const bp_graph& record() const { return *graph_; }
  uint32_t tensor_count() const { return graph_->tensor_count; }
  uint32_t node_count() const { return graph_->node_count; }
  TensorView tensor(uint32_t i) const { return {*graph_, i}; }
  NodeView node(uint32_t i) const { return {*graph_, i}; }

 private:
  const bp_graph* graph_;
};

namespace detail {

[[noreturn]] inline void bad_graph(const std::string& what) {
  throw Error(BP_E_INVALID_ARG, "malformed graph: " + what);
}

// Whose fault it is: "tensor 3". Text only when there is one, since whole graphs are checked on the way to each plan.
struct Who {
  const char* what;
  uint32_t index = BP_NONE;  // none

  [[noreturn]] void bad(const std::string& fault) const {
    bad_graph(what + (index == BP_NONE ? std::string() : ' ' + std::to_string(index)) + ' ' + fault);
  }
};

inline bool in_pool(uint64_t at, uint64_t count, uint64_t pool) {
  return count == 0 || (at <= pool && count <= pool - at);
}

inline void check_tensor(const bp_graph& graph, uint32_t index) {
  const bp_tensor& t = *bp_tensor_at(&graph, index);
  const Who who{"tensor", index};
  if (!in_pool(t.shape_at, t.rank, graph.i64_count)) who.bad("has its shape outside the pool");
  if (!in_pool(t.stride_at, t.rank, graph.i64_count)) who.bad("has its strides outside the pool");
  const uint32_t block = type_layout(t.dtype).block_elements;
  if (block > 1 && (t.rank == 0 || graph.i64[t.shape_at + t.rank - 1] % block != 0))
    who.bad("has an innermost extent that is not a multiple of its type's block");
  int64_t elements = 1;
  for (uint32_t axis = 0; axis < t.rank; ++axis) {
    const int64_t extent = graph.i64[t.shape_at + axis];
    if (extent < 0) who.bad("has a negative extent");
    if (graph.i64[t.stride_at + axis] < 0) who.bad("has a negative stride");
    if (__builtin_mul_overflow(elements, extent, &elements)) who.bad("has too many elements");
  }
  if (t.view_of != BP_NONE && (t.view_of >= graph.tensor_count || bp_tensor_at(&graph, t.view_of)->view_of != BP_NONE))
    who.bad("is a view of a tensor that is missing or itself a view");
  if (t.name_at != BP_NONE && (t.name_at >= graph.text_bytes ||
                               std::memchr(graph.text + t.name_at, 0, graph.text_bytes - t.name_at) == nullptr))
    who.bad("has its name outside the pool");
}

inline void check_operands(const bp_graph& graph, uint64_t at, uint64_t count, const Who& who) {
  if (!in_pool(at, count, graph.u32_count)) who.bad("has operands outside the pool");
  for (uint64_t i = 0; i < count; ++i)
    if (graph.u32[at + i] != BP_NONE && graph.u32[at + i] >= graph.tensor_count)
      who.bad("names tensor " + std::to_string(graph.u32[at + i]) + ", which is missing");
}

inline void check_attr(const bp_graph& graph, const bp_attr& a, const Who& who) {
  const uint64_t pool = a.type == BP_ATTR_TYPE_I64S   ? graph.i64_count
                        : a.type == BP_ATTR_TYPE_F64S ? graph.f64_count
                        : a.type == BP_ATTR_TYPE_TEXT ? graph.text_bytes
                        : a.type == BP_ATTR_TYPE_BLOB ? graph.blob_bytes
                                                      : 0;
  if (a.type > BP_ATTR_TYPE_F64 && !in_pool(a.at, a.count, pool))
    who.bad("has attribute " + std::to_string(a.key) + " outside its pool");
}

inline void check_node(const bp_graph& graph, uint32_t index) {
  const bp_node& n = *bp_node_at(&graph, index);
  const Who who{"node", index};
  check_operands(graph, n.in_at, n.in_count, who);
  check_operands(graph, n.out_at, n.out_count, who);
  if (!in_pool(n.attr_at, n.attr_count, graph.attr_count)) who.bad("has attributes outside the array");
  for (uint32_t i = 0; i < n.attr_count; ++i) check_attr(graph, *bp_attr_at(&graph, n.attr_at + i), who);
}

inline void check_arrays(const bp_graph& graph) {
  if (graph.tensor_stride < sizeof(bp_tensor) || graph.node_stride < sizeof(bp_node) ||
      (graph.attr_count != 0 && graph.attr_stride < sizeof(bp_attr)))
    bad_graph("a stride is shorter than the record of ABI 1.0");
  if (((graph.tensor_stride | graph.node_stride | (graph.attr_count != 0 ? graph.attr_stride : 0)) & 7u) != 0)
    bad_graph("a stride is not a multiple of 8");
  if ((graph.tensor_count != 0 && graph.tensors == nullptr) || (graph.node_count != 0 && graph.nodes == nullptr) ||
      (graph.attr_count != 0 && graph.attrs == nullptr) || (graph.i64_count != 0 && graph.i64 == nullptr) ||
      (graph.u32_count != 0 && graph.u32 == nullptr) || (graph.f64_count != 0 && graph.f64 == nullptr) ||
      (graph.text_bytes != 0 && graph.text == nullptr) || (graph.blob_bytes != 0 && graph.blob == nullptr))
    bad_graph("an array that has elements is NULL");
}

}  // namespace detail

inline GraphView GraphView::check(const bp_graph* graph) {
  using detail::bad_graph;
  if (graph == nullptr || graph->head.kind != BP_KIND_GRAPH || graph->head.size < sizeof(bp_graph))
    bad_graph("NULL, of a wrong kind, or shorter than ABI 1.0");
  detail::check_arrays(*graph);
  for (uint32_t i = 0; i < graph->tensor_count; ++i) detail::check_tensor(*graph, i);
  for (uint32_t i = 0; i < graph->node_count; ++i) detail::check_node(*graph, i);
  detail::check_operands(*graph, graph->in_at, graph->in_count, {"the input list"});
  detail::check_operands(*graph, graph->out_at, graph->out_count, {"the output list"});
  return GraphView(*graph);
}

}  // namespace backplane::sdk
