// run: nodes in order over host memory, one value for each storage.
#include <algorithm>
#include <cstring>
#include <string>

#include "backplane/base/text.hpp"
#include "backplane/reference/reference.hpp"
#include "iteration.hpp"

namespace backplane::reference {
namespace {

AttrList attributes(const bp_graph& graph, const bp_node& node) {
  AttrList attrs;
  for (uint32_t i = 0; i < node.attr_count; ++i) {
    const bp_attr& attr = *bp_attr_at(&graph, node.attr_at + i);
    switch (attr.type) {
      case BP_ATTR_TYPE_I64:
        attrs.set(attr.key, attr.i);
        break;
      case BP_ATTR_TYPE_F64:
        attrs.set(attr.key, attr.f);
        break;
      case BP_ATTR_TYPE_TEXT:
        attrs.set(attr.key, std::string(graph.text + attr.at, attr.count));
        break;
      case BP_ATTR_TYPE_I64S:
        attrs.set(attr.key, std::vector<int64_t>(graph.i64 + attr.at, graph.i64 + attr.at + attr.count));
        break;
      case BP_ATTR_TYPE_F64S:
        attrs.set(attr.key, std::vector<double>(graph.f64 + attr.at, graph.f64 + attr.at + attr.count));
        break;
      default:
        break;  // op set 1 has no attribute of another type
    }
  }
  return attrs;
}

// The memory of a run. A storage's value is of its root's shape; null until it is written.
class Run {
 public:
  explicit Run(const Graph& graph) : graph_(graph), values_(graph.storage_count()), last_use_(graph.storage_count()) {}

  Status start(const std::map<std::string, HostTensor>& inputs) {
    for (const Graph::Port& port : graph_.inputs()) BP_TRY(set_input(port, inputs));
    for (const auto& [name, value] : inputs)
      if (graph_.find_input(name) == nullptr) return not_found(cat("the graph has no input named '", name, "'"));
    for (StorageId id = 0; id < graph_.storage_count(); ++id) {
      if (values_[id].is_null()) {
        BP_TRY_ASSIGN(values_[id], graph_.constant(id).aligned());
      }
      if (values_[id].is_null() && is_mutable(id)) BP_TRY(make_zeros(id));
    }
    for (NodeId node = 0; node < graph_.node_count(); ++node)
      for (const TensorId tensor : graph_.node_inputs(node))
        if (tensor != kNone) last_use_[graph_.storage_of(tensor)] = node;
    for (const Graph::Port& port : graph_.outputs()) last_use_[graph_.storage_of(port.tensor)] = kNone;
    return ok_status();
  }

  Status execute(NodeId node) {
    std::vector<HostTensor> inputs;
    for (const TensorId tensor : graph_.node_inputs(node)) {
      inputs.emplace_back();
      if (tensor == kNone) continue;
      BP_TRY_ASSIGN(inputs.back(), read(tensor));
    }
    Result<std::vector<HostTensor>> results =
        evaluate(graph_.op(node), inputs, attributes(graph_.abi(), graph_.node(node)));
    if (!results.ok()) return results.status().with_context(cat("node ", node, " '", graph_.node_name(node), "'"));
    const std::span<const TensorId> outputs = graph_.node_outputs(node);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != kNone) BP_TRY(write(outputs[i], (*results)[i]));
    for (const TensorId tensor : graph_.node_inputs(node))
      if (tensor != kNone) release(graph_.storage_of(tensor), node);
    return ok_status();
  }

  // The dense value of a tensor: shared where the memory is dense and will not change, else copied.
  Result<HostTensor> read(TensorId id) const {
    const HostTensor& value = values_[graph_.storage_of(id)];
    const DType dtype = graph_.dtype(id);
    const Shape shape(graph_.shape(id).begin(), graph_.shape(id).end());
    if (value.is_null())
      return failed_precondition(cat("tensor ", graph_.tensor_text(id), " is read before any node writes it"));
    if (!is_dense(id) || is_mutable(graph_.storage_of(id))) return graph_.dense_value(id, value.bytes());
    BP_TRY_ASSIGN(const uint64_t count, dense_bytes(dtype, shape));
    return HostTensor::borrow(dtype, shape, value.bytes().subspan(view_offset(id), count), value.keeper());
  }

 private:
  bool is_mutable(StorageId id) const { return (graph_.storage(id).flags & BP_TENSOR_STATE) != 0; }
  size_t view_offset(TensorId id) const { return graph_.is_view(id) ? graph_.tensor(id).offset : 0; }
  bool is_dense(TensorId id) const {
    const std::vector<int64_t> dense = dense_strides(graph_.dtype(id), graph_.shape(id));
    return std::equal(dense.begin(), dense.end(), graph_.strides(id).begin());
  }

  Status set_input(const Graph::Port& port, const std::map<std::string, HostTensor>& inputs) {
    const auto given = inputs.find(port.name);
    const std::string wanted = graph_.tensor_text(port.tensor);
    if (given == inputs.end()) return invalid_argument(cat("no value given for graph input ", wanted));
    const std::span<const int64_t> shape = graph_.shape(port.tensor);
    const HostTensor& value = given->second;
    if (value.is_null() || value.dtype() != graph_.dtype(port.tensor) ||
        !std::equal(shape.begin(), shape.end(), value.shape().begin(), value.shape().end()))
      return invalid_argument(cat("graph input ", wanted, " was given a value of ", value.to_string()));
    values_[graph_.storage_of(port.tensor)] = value;
    return ok_status();
  }

  Status make_zeros(StorageId id) {
    const TensorId root = graph_.storage(id).root;
    const std::span<const int64_t> shape = graph_.shape(root);
    BP_TRY_ASSIGN(values_[id], HostTensor::zeros(graph_.dtype(root), {shape.begin(), shape.end()}));
    return ok_status();
  }

  Status write(TensorId id, const HostTensor& result) {
    const StorageId storage = graph_.storage_of(id);
    if (!graph_.is_view(id) && !is_mutable(storage)) {
      values_[storage] = result;
      return ok_status();
    }
    if (values_[storage].is_null()) BP_TRY(make_zeros(storage));
    std::byte* to = values_[storage].mutable_bytes().data() + view_offset(id);
    const std::byte* from = result.bytes().data();
    const size_t width = type_layout(result.dtype()).block_bytes;
    const Shape strides(graph_.strides(id).begin(), graph_.strides(id).end());
    walk(graph_.shape(id), std::array{strides}, [&](const std::array<int64_t, 1>& at) {
      std::memcpy(to + at[0], from, width);
      from += width;
    });
    return ok_status();
  }

  // Lets go of a value that no later node reads, so that a run needs the memory of a few tensors, not of all.
  void release(StorageId id, NodeId node) {
    if (last_use_[id] == node && !is_mutable(id)) values_[id] = HostTensor();
  }

  const Graph& graph_;
  std::vector<HostTensor> values_;  // by storage
  std::vector<NodeId> last_use_;    // by storage; kNone = to the end
};

}  // namespace

Result<std::vector<HostTensor>> run(const Graph& graph, const std::map<std::string, HostTensor>& inputs) {
  Run run(graph);
  BP_TRY(run.start(inputs));
  for (NodeId node = 0; node < graph.node_count(); ++node) BP_TRY(run.execute(node));
  std::vector<HostTensor> outputs;
  for (const Graph::Port& port : graph.outputs()) {
    BP_TRY_ASSIGN(outputs.emplace_back(), run.read(port.tensor));
  }
  return outputs;
}

}  // namespace backplane::reference
