#include "scheduler/memory/memory_layout.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "backplane/base/text.hpp"
#include "scheduler/memory/device_memory.hpp"
#include "scheduler/memory/in_place.hpp"
#include "scheduler/memory/lifetimes.hpp"
#include "scheduler/memory/memory_planner.hpp"
#include "scheduler/memory/separate_blocks.hpp"

namespace backplane {
namespace {

// What devices want for storages: asked once for all of the same type, shape and strides.
class StorageSizes {
 public:
  explicit StorageSizes(const Graph& graph) : graph_(graph) {}

  Result<uint64_t> bytes(const Device& device, StorageId storage) {
    const TensorId root = graph_.storage(storage).root;
    const auto found = known_.find(key(root));
    if (found != known_.end() && equal(found->second.first, root)) return found->second.second;
    BP_TRY_ASSIGN(const uint64_t bytes, storage_bytes(device, graph_, storage));
    known_.insert_or_assign(key(root), std::pair(root, bytes));
    return bytes;
  }
  // To be called before another device is asked.
  void forget() { known_.clear(); }

 private:
  uint64_t key(TensorId tensor) const {
    uint64_t key = graph_.tensor(tensor).dtype;
    for (const int64_t extent : graph_.shape(tensor)) key = (key ^ static_cast<uint64_t>(extent)) * 0x9E3779B97F4A7C15u;
    return key;
  }
  bool equal(TensorId a, TensorId b) const {
    return graph_.dtype(a) == graph_.dtype(b) && graph_.tensor(a).flags == graph_.tensor(b).flags &&
           graph_.tensor(a).bytes == graph_.tensor(b).bytes && std::ranges::equal(graph_.shape(a), graph_.shape(b)) &&
           std::ranges::equal(graph_.strides(a), graph_.strides(b));
  }

  const Graph& graph_;
  std::unordered_map<uint64_t, std::pair<TensorId, uint64_t>> known_;  // key -> one such tensor, its bytes
};

class LayoutBuilder {
 public:
  LayoutBuilder(const SplitInput& input, const std::vector<Device*>& devices, const SplitResult& cut,
                const TaskGraph& tasks)
      : graph_(input.graph),
        options_(input.options),
        devices_(devices),
        cut_(cut),
        input_(input),
        tasks_(tasks),
        end_(graph_.node_count() + static_cast<uint32_t>(cut.copies.size())),
        lives_(find_lifetimes(input, cut, tasks)),
        buffer_limits_(input.capability.buffer_limits(cut.splits)),
        sizes_(input.graph),
        leaders_(cut.instances.size()) {
    std::iota(leaders_.begin(), leaders_.end(), 0u);
    for (const InstanceGroup& group : cut.groups)
      for (const InstanceGroup::Member& member : group.members) {
        seats_[member.instance] = {&group, member.offset};
        leaders_[member.instance] = group.members.front().instance;
      }
  }

  Result<MemoryLayout> build() {
    find_ports();
    list_residences();
    std::vector<std::vector<uint32_t>> ports(devices_.size()), arena(devices_.size());  // instances by device
    for (uint32_t instance = 0; instance < instance_count(); ++instance) {
      if (slots_[instance] == kNone) continue;
      const uint32_t device = owner(instance);
      Residence& place = residence(instance);
      place = {.storage = cut_.instances.storage(instance),
               .device = device,
               .pool = kNone,
               .chunk = 0,
               .offset = 0,
               .last_step = end_};
      if (is_state(instance) || is_placed_once(instance)) continue;
      if (is_port(instance)) {
        ports[device].push_back(instance);
      } else {
        arena[device].push_back(instance);
        place.first_step = lives_[instance].first;
        place.last_step = lives_[instance].last;
      }
    }
    find_chains(arena);
    for (uint32_t device = 0; device < devices_.size(); ++device) {
      BP_TRY(plan_pool(device, PoolKind::arena, arena[device]));
      BP_TRY(plan_pool(device, PoolKind::ports, ports[device]));
    }
    return std::move(layout_);
  }

 private:
  struct Seat {
    const InstanceGroup* group;
    uint64_t offset;  // from the begin of the group's block
  };

  uint32_t instance_count() const { return cut_.instances.size(); }
  // REQUIRES: it has one.
  Residence& residence(uint32_t instance) { return layout_.residences[slots_[instance]]; }
  uint32_t owner(uint32_t instance) const {
    return cut_.instances.is_home(instance) ? cut_.home[instance] : cut_.instances.device(instance);
  }
  bool is_state(uint32_t instance) const {
    return cut_.instances.is_home(instance) && (graph_.storage(instance).flags & BP_TENSOR_STATE) != 0;
  }
  // Constants that are put in place once: where they are located, and on devices to which nothing copies them.
  bool is_placed_once(uint32_t instance) const {
    return graph_.is_constant(cut_.instances.storage(instance)) &&
           (cut_.instances.is_home(instance) || !copied_[instance]);
  }

  // Inputs keep their values from run to run, outputs are read after it.
  void find_ports() {
    is_port_.assign(graph_.storage_count(), false);
    for (const Graph::Port& port : graph_.inputs()) is_port_[graph_.storage_of(port.tensor)] = true;
    for (const Graph::Port& port : graph_.outputs()) is_port_[graph_.storage_of(port.tensor)] = true;
    for (StorageId storage = 0; storage < graph_.storage_count(); ++storage)
      if ((graph_.storage(storage).flags & BP_TENSOR_KEEP) != 0) is_port_[storage] = true;
    copied_.assign(instance_count(), false);
    for (const PlannedCopy& copy : cut_.copies)
      if (const uint32_t away = cut_.instances.find(copy.storage, copy.to); away != kNone) copied_[away] = true;
  }
  bool is_port(uint32_t instance) const { return cut_.instances.is_home(instance) && is_port_[instance]; }
  // What is never used in a run, and not kept from one to the next, is nowhere.
  bool is_somewhere(uint32_t instance) const {
    return owner(instance) != kNone &&
           (lives_[instance].first != kNone || is_state(instance) || is_placed_once(instance) || is_port(instance));
  }

  // Counts, then gives each instance its place behind those of earlier storages; homes come first because their
  // numbers do.
  void list_residences() {
    std::vector<uint32_t>& at = layout_.residence_at;
    at.assign(graph_.storage_count() + 1, 0);
    slots_.assign(instance_count(), kNone);
    for (uint32_t instance = 0; instance < instance_count(); ++instance)
      if (is_somewhere(instance)) slots_[instance] = at[cut_.instances.storage(instance) + 1]++;
    for (size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
    for (uint32_t instance = 0; instance < instance_count(); ++instance)
      if (slots_[instance] != kNone) slots_[instance] += at[cut_.instances.storage(instance)];
    layout_.residences.resize(at.back());
  }

  // A chain of results that take over one memory is the block of its first instance, which then lives as long.
  void find_chains(const std::vector<std::vector<uint32_t>>& arena) {
    if (!options_.reuse_memory || !options_.in_place || options_.separate_memory) return;
    std::vector<bool> eligible(instance_count(), false);
    for (const std::vector<uint32_t>& instances : arena)
      for (const uint32_t instance : instances) eligible[instance] = !seats_.contains(instance);
    for (const auto& [result, operand] : find_in_place(input_, cut_, tasks_, lives_, eligible)) {
      leaders_[result] = leaders_[operand];
      lives_[leaders_[operand]].last = lives_[result].last;
      residence(result).in_place_of = cut_.instances.storage(operand);
    }
  }

  Status plan_pool(uint32_t device, PoolKind kind, const std::vector<uint32_t>& all) {
    if (all.empty()) return {};
    sizes_.forget();
    std::vector<uint32_t> instances;  // those with blocks of their own
    std::ranges::copy_if(all, std::back_inserter(instances),
                         [this](uint32_t instance) { return leaders_[instance] == instance; });
    std::vector<MemoryBlock> blocks;
    blocks.reserve(instances.size());
    for (const uint32_t instance : instances) {
      BP_TRY_ASSIGN(MemoryBlock block, block_of(device, instance));
      if (kind == PoolKind::ports || !options_.reuse_memory) block.first = 0, block.last = end_;
      blocks.push_back(block);
    }
    const MemoryType& type = devices_[device]->memory_types()[kComputeMemtype];
    MemoryLimits limits{type.alignment, buffer_limits_[device], 0, options_.memory_comparisons};
    Result<MemoryPlan> planned =
        options_.separate_memory ? separate_blocks(blocks, limits) : plan_memory(blocks, limits);
    if (!planned.ok()) return explain(planned.status(), device, type, instances, blocks);
    if (planned->peak_bytes > planned->lower_bound_bytes) {
      limits.capacity_bytes = room_for_arena(device, all);
      if (limits.capacity_bytes != 0 && limits.capacity_bytes < planned->peak_bytes)
        planned = plan_memory(blocks, limits);
    }
    const auto pool = static_cast<uint32_t>(layout_.pools.size());
    layout_.pools.push_back({device, kComputeMemtype, kind, planned->chunk_bytes, planned->peak_bytes,
                             planned->lower_bound_bytes, planned->method, planned->comparisons});
    const auto put = [&](uint32_t instance, uint32_t chunk, uint64_t offset) {
      Residence& place = residence(instance);
      place.pool = pool;
      place.chunk = chunk;
      place.offset = offset;
    };
    for (size_t i = 0; i < instances.size(); ++i)
      put(instances[i], planned->places[i].chunk, planned->places[i].offset);
    for (const uint32_t instance : all) {
      const Residence& leader = residence(leaders_[instance]);
      const auto seat = seats_.find(instance);
      put(instance, leader.chunk, leader.offset + (seat == seats_.end() ? 0 : seat->second.offset));
    }
    return {};
  }

  Result<MemoryBlock> block_of(uint32_t device, uint32_t instance) {
    MemoryBlock block{lives_[instance].first, lives_[instance].last, 0};
    const auto seat = seats_.find(instance);
    if (seat == seats_.end()) {
      BP_TRY_ASSIGN(block.bytes, sizes_.bytes(*devices_[device], cut_.instances.storage(instance)));
      return block;
    }
    const InstanceGroup& group = *seat->second.group;
    block.bytes = group.bytes;
    for (const InstanceGroup::Member& member : group.members) {
      block.first = std::min(block.first, lives_[member.instance].first);
      block.last = std::max(block.last, lives_[member.instance].last);
    }
    return block;
  }

  // What the device's memory leaves for these instances beside all others that are there; 0 = unknown, or nothing.
  uint64_t room_for_arena(uint32_t device, const std::vector<uint32_t>& instances) const {
    const Result<MemoryStats> stats = devices_[device]->memory();
    if (!stats.ok() || !stats->total) return 0;
    std::vector<bool> is_inside(instance_count(), false);
    for (const uint32_t instance : instances) is_inside[instance] = true;
    uint64_t room = *stats->total;
    for (uint32_t instance = 0; instance < instance_count(); ++instance)
      if (slots_[instance] != kNone && owner(instance) == device && !is_inside[instance])
        room -= std::min(room, graph_.storage(cut_.instances.storage(instance)).bytes);
    return room;
  }

  Status explain(const Status& status, uint32_t device, const MemoryType& type, const std::vector<uint32_t>& instances,
                 const std::vector<MemoryBlock>& blocks) const {
    if (status.id() != "memory.block-too-large") return status.with_context(devices_[device]->name());
    const auto largest = std::ranges::max_element(blocks, {}, &MemoryBlock::bytes) - blocks.begin();
    const StorageId storage = cut_.instances.storage(instances[largest]);
    return resource_exhausted(
        cat(graph_.tensor_text(graph_.storage(storage).root), " needs ", bytes_text(blocks[largest].bytes),
            ", and the largest buffer of ", devices_[device]->name(), " (", type.name, ") is ",
            bytes_text(buffer_limits_[device])),
        "plan.tensor-too-large");
  }

  const Graph& graph_;
  const PlanOptions& options_;
  const std::vector<Device*>& devices_;
  const SplitResult& cut_;
  const SplitInput& input_;
  const TaskGraph& tasks_;
  const uint32_t end_;                         // of the run, in ticks
  std::vector<Lifetime> lives_;                // of the block, for leaders of chains
  const std::vector<uint64_t> buffer_limits_;  // by device
  StorageSizes sizes_;
  std::vector<bool> is_port_;                 // by storage
  std::vector<bool> copied_;                  // by instance: a copy writes it in each run
  std::vector<uint32_t> slots_;               // by instance: into the layout's residences; kNone = nowhere
  std::unordered_map<uint32_t, Seat> seats_;  // by instance, of those in groups
  std::vector<uint32_t> leaders_;             // by instance: in whose block it is
  MemoryLayout layout_;
};

}  // namespace

Result<MemoryLayout> lay_out_memory(const SplitInput& input, const std::vector<Device*>& devices,
                                    const SplitResult& cut, const TaskGraph& tasks) {
  return LayoutBuilder(input, devices, cut, tasks).build();
}

}  // namespace backplane
