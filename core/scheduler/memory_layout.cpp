#include "memory_layout.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backplane/base/text.hpp"
#include "device_memory.hpp"
#include "memory_planner.hpp"

namespace backplane {
namespace {

using Key = std::pair<StorageId, uint32_t>;  // storage, device

// Collects how long every storage lives on every device that holds it; time is the node's number in the list.
class LayoutBuilder {
 public:
  LayoutBuilder(const Graph& graph, const std::vector<Device*>& devices, const SplitResult& cut)
      : graph_(graph), devices_(devices), cut_(cut) {}

  Result<MemoryLayout> build() {
    for (const Split& split : cut_.splits) visit(split);
    keep_whole_run();
    for (uint32_t device = 0; device < devices_.size(); ++device) BP_TRY(plan_pool(device));
    for (const Key& constant : constants_) layout_.residences.push_back({constant.first, constant.second, kNone, 0, 0});
    return std::move(layout_);
  }

 private:
  struct Life {
    uint32_t first, last;
  };

  void use(StorageId storage, uint32_t device, uint32_t step) {
    const auto [life, fresh] = lives_.try_emplace({storage, device}, Life{step, step});
    if (fresh) return;
    life->second.first = std::min(life->second.first, step);
    life->second.last = std::max(life->second.last, step);
  }

  void visit(const Split& split) {
    const uint32_t start = split.nodes.front();
    for (const uint32_t index : split.copies) {
      const PlannedCopy& copy = cut_.copies[index];
      use(copy.storage, copy.from, start);
      use(copy.storage, copy.to, start);
    }
    for (const NodeId node : split.nodes) {
      for (const TensorId input : graph_.node_inputs(node))
        if (input != kNone) read(graph_.storage_of(input), split.device, node);
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone) use(graph_.storage_of(output), cut_.home[graph_.storage_of(output)], node);
    }
  }

  void read(StorageId storage, uint32_t device, NodeId node) {
    const uint32_t home = cut_.home[storage];
    if (home == kNone) {
      constants_.insert({storage, device});
    } else {
      use(storage, lives_.contains({storage, device}) ? device : home, node);  // its copy if there is one
    }
  }

  // Inputs keep their values from run to run, outputs are read after it, states are both.
  void keep_whole_run() {
    const auto keep = [&](StorageId storage) {
      if (cut_.home[storage] != kNone) lives_[{storage, cut_.home[storage]}] = {0, graph_.node_count()};
    };
    for (const Graph::Port& port : graph_.inputs()) keep(graph_.storage_of(port.tensor));
    for (const Graph::Port& port : graph_.outputs()) keep(graph_.storage_of(port.tensor));
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage)
      if ((graph_.storage(storage).flags & (BP_TENSOR_STATE | BP_TENSOR_KEEP)) != 0) keep(storage);
  }

  Status plan_pool(uint32_t device) {
    std::vector<MemoryBlock> blocks;
    std::vector<StorageId> storages;
    for (const auto& [key, life] : lives_) {
      if (key.second != device) continue;
      BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(*devices_[device], graph_, key.first));
      blocks.push_back({life.first, life.last, bytes});
      storages.push_back(key.first);
    }
    if (blocks.empty()) return {};
    const MemoryType& type = devices_[device]->memory_types()[kComputeMemtype];
    Result<MemoryPlan> planned = plan_memory(blocks, {type.alignment, type.max_bytes});
    if (!planned.ok()) return explain(planned.status(), device, type, storages, blocks);
    add_pool(device, *planned, storages);
    return {};
  }

  Status explain(const Status& status, uint32_t device, const MemoryType& type, const std::vector<StorageId>& storages,
                 const std::vector<MemoryBlock>& blocks) const {
    if (status.id() != "memory.block-too-large") return status.with_context(devices_[device]->name());
    const auto largest = std::ranges::max_element(blocks, {}, &MemoryBlock::bytes) - blocks.begin();
    return resource_exhausted(cat(graph_.tensor_text(graph_.storage(storages[largest]).root), " needs ",
                                  bytes_text(blocks[largest].bytes), ", and the largest buffer of ",
                                  devices_[device]->name(), " (", type.name, ") is ", bytes_text(type.max_bytes)),
                              "plan.tensor-too-large");
  }

  void add_pool(uint32_t device, const MemoryPlan& plan, const std::vector<StorageId>& storages) {
    const auto pool = static_cast<uint32_t>(layout_.pools.size());
    layout_.pools.push_back({device, kComputeMemtype, plan.chunk_bytes, plan.peak_bytes, plan.lower_bound_bytes});
    for (size_t i = 0; i < storages.size(); ++i)
      layout_.residences.push_back({storages[i], device, pool, plan.places[i].chunk, plan.places[i].offset});
  }

  const Graph& graph_;
  const std::vector<Device*>& devices_;
  const SplitResult& cut_;
  std::map<Key, Life> lives_;
  std::set<Key> constants_;
  MemoryLayout layout_;
};

}  // namespace

Result<MemoryLayout> lay_out_memory(const Graph& graph, const std::vector<Device*>& devices, const SplitResult& cut) {
  return LayoutBuilder(graph, devices, cut).build();
}

}  // namespace backplane
