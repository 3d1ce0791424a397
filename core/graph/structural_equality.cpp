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

template <class T>
bool equal_lists(const T* a, uint64_t a_at, const T* b, uint64_t b_at, uint64_t count) {
  return count == 0 || std::memcmp(a + a_at, b + b_at, count * sizeof(T)) == 0;
}

bool equal_values(const bp_graph& x, const bp_attr& a, const bp_graph& y, const bp_attr& b) {
  if (a.key != b.key || a.type != b.type || a.flags != b.flags || a.count != b.count || a.i != b.i ||
      std::bit_cast<uint64_t>(a.f) != std::bit_cast<uint64_t>(b.f))
    return false;
  switch (a.type) {
    case BP_ATTR_TYPE_TEXT:
      return equal_lists(x.text, a.at, y.text, b.at, a.count);
    case BP_ATTR_TYPE_I64S:
      return equal_lists(x.i64, a.at, y.i64, b.at, a.count);
    case BP_ATTR_TYPE_F64S:
      return equal_lists(x.f64, a.at, y.f64, b.at, a.count);
    case BP_ATTR_TYPE_BLOB:
      return equal_lists(x.blob, a.at, y.blob, b.at, a.count);
    default:
      return true;
  }
}

// The same op of the same tensors.
bool equal_steps(const bp_graph& x, const bp_node& a, const bp_graph& y, const bp_node& b) {
  if (a.op != b.op || a.op_version != b.op_version || a.flags != b.flags || a.in_count != b.in_count ||
      a.out_count != b.out_count || a.attr_count != b.attr_count ||
      !equal_lists(x.u32, a.in_at, y.u32, b.in_at, a.in_count) ||
      !equal_lists(x.u32, a.out_at, y.u32, b.out_at, a.out_count))
    return false;
  for (uint32_t i = 0; i < a.attr_count; ++i)
    if (!equal_values(x, *bp_attr_at(&x, a.attr_at + i), y, *bp_attr_at(&y, b.attr_at + i))) return false;
  return true;
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
    if (!equal_values(x, *bp_attr_at(&x, i), y, *bp_attr_at(&y, i))) return false;
  return equal_ports(a.inputs(), b.inputs()) && equal_ports(a.outputs(), b.outputs());
}

bool same_topology(const bp_graph& a, const bp_graph& b) {
  if (a.tensor_count != b.tensor_count || a.node_count != b.node_count) return false;
  for (uint32_t i = 0; i < a.tensor_count; ++i) {
    const bp_tensor &x = *bp_tensor_at(&a, i), &y = *bp_tensor_at(&b, i);
    if (x.dtype != y.dtype || x.rank != y.rank || x.flags != y.flags || x.view_of != y.view_of) return false;
  }
  for (uint32_t i = 0; i < a.node_count; ++i)
    if (!equal_steps(a, *bp_node_at(&a, i), b, *bp_node_at(&b, i))) return false;
  return true;
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
