#include "backplane/runtime/device_graph.hpp"

#include <cstddef>
#include <numeric>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr uint32_t kMemtype = 0;  // the device's default for computing

// Finds offsets in a MultiBuffer, one after another, so that nothing crosses the border of a chunk.
class Packer {
 public:
  explicit Packer(const Device& device)
      : limit_(MultiBuffer::chunk_limit(device, kMemtype)), alignment_(device.memory_types()[kMemtype].alignment) {}

  uint64_t bytes() const { return bytes_; }
  // Errors: resource_exhausted if it fits no chunk, or the sum is no number.
  Result<uint64_t> add(uint64_t bytes) {
    uint64_t offset = bytes_;
    bool sound = round_up(offset, alignment_);
    const uint64_t left = limit_ - offset % limit_;
    if (bytes > left) sound = sound && round_up(offset, limit_);
    if (bytes > limit_ || !sound || __builtin_add_overflow(offset, bytes, &bytes_))
      return resource_exhausted(cat("needs ", bytes_text(bytes), ", and the largest buffer has ", bytes_text(limit_)),
                                "device-graph.tensor-too-large");
    return offset;
  }

 private:
  static bool round_up(uint64_t& value, uint64_t unit) {
    const uint64_t rest = value % unit;
    return rest == 0 || !__builtin_add_overflow(value, unit - rest, &value);
  }

  uint64_t limit_, alignment_, bytes_ = 0;
};

}  // namespace

Result<DeviceGraph> DeviceGraph::allocate(std::shared_ptr<const Graph> shared, Device& device) {
  if (shared == nullptr) return invalid_argument("the graph is null");
  DeviceGraph made(std::move(shared), device);
  const Graph& graph = *made.graph_;
  Packer weights(device), values(device);
  std::vector<uint64_t> offsets;
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage) {
    const TensorId root = graph.storage(storage).root;
    BP_TRY_ASSIGN(const uint64_t bytes,
                  PlacedTensor::bytes_needed(device, kMemtype, graph.dtype(root), graph.shape(root)));
    const Result<uint64_t> offset = (graph.is_constant(storage) ? weights : values).add(bytes);
    if (!offset.ok()) return offset.status().with_context(cat(graph.tensor_text(root), " on ", device.name()));
    offsets.push_back(*offset);
  }
  BP_TRY_ASSIGN(made.weights_, MultiBuffer::allocate(device, kMemtype, weights.bytes(), BP_USAGE_WEIGHTS));
  BP_TRY_ASSIGN(made.values_, MultiBuffer::allocate(device, kMemtype, values.bytes(), BP_USAGE_COMPUTE));
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage) {
    const TensorId root = graph.storage(storage).root;
    const std::span<const int64_t> shape = graph.shape(root);
    MultiBuffer& memory = graph.is_constant(storage) ? made.weights_ : made.values_;
    BP_TRY_ASSIGN(const MultiBuffer::Place place, memory.place(offsets[storage], 0));
    BP_TRY_ASSIGN(PlacedTensor tensor,
                  PlacedTensor::place(*place.buffer, place.offset, graph.dtype(root), {shape.begin(), shape.end()}));
    made.roots_.push_back(std::move(tensor));
  }
  return made;
}

Result<DeviceGraph> DeviceGraph::make(std::shared_ptr<const Graph> graph, Device& device) {
  BP_TRY_ASSIGN(DeviceGraph made, allocate(std::move(graph), device));
  for (StorageId storage = 0; storage < made.graph_->storage_count(); ++storage) {
    PlacedTensor& root = made.roots_[storage];
    if (const HostTensor& value = made.graph_->constant(storage); !value.is_null())
      BP_TRY(root.write(value));
    else if ((made.graph_->storage(storage).flags & BP_TENSOR_STATE) != 0)
      BP_TRY(root.fill(0, root.bytes(), 0));
  }
  return made;
}

Result<DeviceGraph> DeviceGraph::copy_to(Device& device) const {
  BP_TRY_ASSIGN(DeviceGraph made, allocate(graph_, device));
  std::vector<std::byte> staging;
  for (StorageId storage = 0; storage < graph_->storage_count(); ++storage) {
    staging.resize(roots_[storage].bytes());
    BP_TRY(roots_[storage].get(0, staging));
    BP_TRY(made.roots_[storage].set(0, staging));
  }
  return made;
}

Result<PlacedTensor> DeviceGraph::tensor(TensorId id) const {
  if (id >= graph_->tensor_count())
    return out_of_range(cat("there is no tensor ", id, "; the graph has ", graph_->tensor_count()));
  const PlacedTensor& root = roots_[graph_->storage_of(id)];
  if (!graph_->is_view(id)) return root;
  const auto shape = graph_->shape(id), strides = graph_->strides(id);
  return root.view(graph_->tensor(id).offset, {shape.begin(), shape.end()}, {strides.begin(), strides.end()});
}

Subgraph DeviceGraph::part(std::span<const NodeId> nodes) const {
  Subgraph part(*graph_, nodes);
  for (uint32_t local = 0; local < part.tensors().size(); ++local) {
    const TensorId id = part.tensors()[local];
    if (graph_->is_view(id)) continue;
    const PlacedTensor& root = roots_[graph_->storage_of(id)];
    part.bind(local, root.buffer().handle(), root.offset());
  }
  return part;
}

Subgraph DeviceGraph::whole() const {
  std::vector<NodeId> nodes(graph_->node_count());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return part(nodes);
}

}  // namespace backplane
