#include "structural_equality.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace backplane {
namespace {

template <class T>
bool equal_pools(const T* a, uint64_t a_count, const T* b, uint64_t b_count) {
  return a_count == b_count && (a_count == 0 || std::memcmp(a, b, a_count * sizeof(T)) == 0);
}

bool equal_tensors(const bp_tensor& a, const bp_tensor& b) {
  return a.dtype == b.dtype && a.rank == b.rank && a.shape_at == b.shape_at && a.stride_at == b.stride_at &&
         a.flags == b.flags && a.view_of == b.view_of && a.offset == b.offset && a.bytes == b.bytes;
}

bool equal_nodes(const bp_node& a, const bp_node& b) {
  return a.op == b.op && a.op_version == b.op_version && a.in_at == b.in_at && a.in_count == b.in_count &&
         a.out_at == b.out_at && a.out_count == b.out_count && a.attr_at == b.attr_at && a.attr_count == b.attr_count &&
         a.flags == b.flags;
}

// Texts are compared by value: names lie between them in the pool.
bool equal_attrs(const bp_graph& a_graph, const bp_attr& a, const bp_graph& b_graph, const bp_attr& b) {
  if (a.key != b.key || a.type != b.type || a.flags != b.flags || a.count != b.count || a.i != b.i ||
      std::bit_cast<uint64_t>(a.f) != std::bit_cast<uint64_t>(b.f))
    return false;
  if (a.type != BP_ATTR_TYPE_TEXT) return a.at == b.at;
  return std::memcmp(a_graph.text + a.at, b_graph.text + b.at, a.count) == 0;
}

bool equal_ports(const std::vector<Graph::Port>& a, const std::vector<Graph::Port>& b) {
  return std::ranges::equal(a, b, {}, &Graph::Port::tensor, &Graph::Port::tensor);
}

}  // namespace

bool same_structure(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  const bp_graph &x = a.abi(), &y = b.abi();
  if (x.key != y.key || x.tensor_count != y.tensor_count || x.node_count != y.node_count ||
      x.attr_count != y.attr_count || !equal_pools(x.i64, x.i64_count, y.i64, y.i64_count) ||
      !equal_pools(x.u32, x.u32_count, y.u32, y.u32_count) || !equal_pools(x.f64, x.f64_count, y.f64, y.f64_count) ||
      !equal_pools(x.blob, x.blob_bytes, y.blob, y.blob_bytes))
    return false;
  for (uint32_t i = 0; i < x.tensor_count; ++i)
    if (!equal_tensors(*bp_tensor_at(&x, i), *bp_tensor_at(&y, i))) return false;
  for (uint32_t i = 0; i < x.node_count; ++i)
    if (!equal_nodes(*bp_node_at(&x, i), *bp_node_at(&y, i))) return false;
  for (uint32_t i = 0; i < x.attr_count; ++i)
    if (!equal_attrs(x, *bp_attr_at(&x, i), y, *bp_attr_at(&y, i))) return false;
  return equal_ports(a.inputs(), b.inputs()) && equal_ports(a.outputs(), b.outputs());
}

bool same_names(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  for (TensorId id = 0; id < a.tensor_count(); ++id)
    if (a.tensor_name(id) != b.tensor_name(id)) return false;
  for (NodeId id = 0; id < a.node_count(); ++id)
    if (a.node_name(id) != b.node_name(id)) return false;
  return true;
}

bool same_constants(const Graph& a, const Graph& b) {
  if (&a == &b) return true;
  for (StorageId id = 0; id < a.storage_count(); ++id) {
    const HostTensor &x = a.constant(id), &y = b.constant(id);
    if (x.is_null() != y.is_null() || x.bytes().data() != y.bytes().data() || x.bytes().size() != y.bytes().size())
      return false;
  }
  return true;
}

}  // namespace backplane
