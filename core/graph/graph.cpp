#include "backplane/graph/graph.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "structural_hash.hpp"
#include "view_layout.hpp"

namespace backplane {
namespace {

const Graph::Port* find_port(const std::vector<Graph::Port>& ports, std::string_view name) {
  const auto it =
      std::find_if(ports.begin(), ports.end(), [name](const Graph::Port& port) { return port.name == name; });
  return it == ports.end() ? nullptr : &*it;
}

}  // namespace

std::string_view Graph::tensor_name(TensorId id) const { return arrays_.text_at(tensor(id).name_at); }
std::string_view Graph::node_name(NodeId id) const { return arrays_.text_at(node_names_[id]); }

std::string Graph::tensor_text(TensorId id) const {
  const std::string_view name = tensor_name(id);
  const std::string label = name.empty() ? cat("tensor ", id) : std::string(name);
  return cat(label, ": ", type_name(dtype(id)), " ", shape_text(shape(id)));
}

const Graph::Port* Graph::find_input(std::string_view name) const { return find_port(inputs_, name); }
const Graph::Port* Graph::find_output(std::string_view name) const { return find_port(outputs_, name); }

const HostTensor& Graph::constant(StorageId id) const { return constants_[id]; }

Result<HostTensor> Graph::dense_value(TensorId id, std::span<const std::byte> storage_bytes) const {
  BP_TRY_ASSIGN(HostTensor value, HostTensor::zeros(dtype(id), {shape(id).begin(), shape(id).end()}));
  const uint64_t offset = is_view(id) ? tensor(id).offset : 0;
  gather_dense(dtype(id), shape(id), strides(id), storage_bytes.data() + offset, value.mutable_bytes().data());
  return value;
}

void Graph::seal() {
  for (NodeId n = 0; n < node_count(); ++n) {
    for (TensorId t : node_inputs(n))
      if (t != kNone) ++storages_[storage_of_[t]].reads;
    for (TensorId t : node_outputs(n)) {
      if (t == kNone) continue;
      Storage& storage = storages_[storage_of_[t]];
      if (storage.writer == kNone && !(storage.flags & BP_TENSOR_STATE)) storage.writer = n;
    }
  }
  const auto in_at = static_cast<uint32_t>(arrays_.u32.size());
  for (const Port& port : inputs_) arrays_.u32.push_back(port.tensor);
  for (const Storage& storage : storages_)
    if (storage.flags & (BP_TENSOR_WEIGHT | BP_TENSOR_STATE)) arrays_.u32.push_back(storage.root);
  const auto out_at = static_cast<uint32_t>(arrays_.u32.size());
  for (const Port& port : outputs_) arrays_.u32.push_back(port.tensor);
  abi_ = arrays_.view(in_at, out_at - in_at, out_at, static_cast<uint32_t>(outputs_.size()));
  abi_.key = structural_hash(abi_);
}

}  // namespace backplane
