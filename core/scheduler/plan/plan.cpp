#include "backplane/scheduler/plan.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

#include "backplane/base/text.hpp"
#include "scheduler/memory/input_batches.hpp"
#include "scheduler/memory/memory_layout.hpp"
#include "scheduler/placement/placement.hpp"
#include "scheduler/plan/capability.hpp"
#include "scheduler/plan/carried_waits.hpp"
#include "scheduler/plan/splitter.hpp"
#include "scheduler/plan/task_graph.hpp"

namespace backplane {
namespace {

uint64_t sum_of_weights(const Graph& graph, const std::vector<Residence>& residences) {
  uint64_t bytes = 0;
  for (const Residence& residence : residences)
    if (residence.pool == kNone && graph.is_constant(residence.storage))
      bytes += graph.storage(residence.storage).bytes;
  return bytes;
}

bool can_be_located(const Graph& graph, StorageId storage) {
  return graph.is_constant(storage) || (graph.storage(storage).flags & BP_TENSOR_STATE) != 0;
}

Status no_such_device(std::string_view what, uint32_t device, size_t count) {
  return invalid_argument(cat(what, " names device ", device, " of ", count), "plan.location-device");
}

Status no_such_location(const Graph& graph, std::string_view name) {
  std::vector<std::string> candidates;
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
    if (can_be_located(graph, storage)) candidates.emplace_back(graph.tensor_name(graph.storage(storage).root));
  return invalid_argument(
      cat("location names '", name, "', and the graph has no such weight or state", did_you_mean(name, candidates)),
      "plan.location-name");
}

// Locations in any order; of two with one name the later holds.
Status look_up_located(const Graph& graph, std::span<const std::pair<std::string, uint32_t>> locations,
                       std::vector<uint32_t>& located) {
  std::unordered_map<std::string_view, uint32_t> wanted;  // name -> device
  for (const auto& [name, device] : locations) wanted.insert_or_assign(name, device);
  for (StorageId storage = 0; storage < graph.storage_count() && !wanted.empty(); ++storage) {
    if (!can_be_located(graph, storage)) continue;
    const auto found = wanted.find(graph.tensor_name(graph.storage(storage).root));
    if (found == wanted.end()) continue;
    located[storage] = found->second;
    wanted.erase(found);
  }
  for (const auto& [name, device] : locations)
    if (wanted.contains(name)) return no_such_location(graph, name);
  return {};
}

// By storage: the device that the options put it on.
Result<std::vector<uint32_t>> find_located(const Graph& graph, size_t device_count, const PlanOptions& options) {
  std::vector<uint32_t> located(graph.storage_count(), kNone);
  if (options.weights_device != kNone) {
    if (options.weights_device >= device_count)
      return no_such_device("weights_device", options.weights_device, device_count);
    for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
      if (graph.is_constant(storage)) located[storage] = options.weights_device;
  }
  const auto& locations = options.locations;
  for (const auto& [name, device] : locations)
    if (device >= device_count) return no_such_device(cat("location of '", name, "'"), device, device_count);
  // Most lists are in the order of the graph: what follows the last one found is seen without looking it up.
  size_t next = 0;
  for (StorageId storage = 0; storage < graph.storage_count() && next < locations.size(); ++storage) {
    if (!can_be_located(graph, storage) || graph.tensor_name(graph.storage(storage).root) != locations[next].first)
      continue;
    located[storage] = locations[next++].second;
  }
  if (next < locations.size()) BP_TRY(look_up_located(graph, std::span(locations).subspan(next), located));
  return located;
}

}  // namespace

std::string_view cause_name(Cause cause) {
  constexpr std::string_view kNames[] = {"pin",         "location", "weight",  "offload", "expand-down", "expand-up",
                                         "most-inputs", "upgrade",  "min-cut", "cost",    "fallback"};
  return kNames[static_cast<size_t>(cause)];
}

std::string_view mode_name(PlacementMode mode) {
  constexpr std::string_view kNames[] = {"greedy", "mincomm", "cost"};
  return kNames[static_cast<size_t>(mode)];
}

const Residence* Plan::residence(StorageId storage, uint32_t device) const {
  const Residence* home = nullptr;
  for (uint32_t i = residence_at[storage]; i < residence_at[storage + 1]; ++i) {
    if (residences[i].device == device) return &residences[i];
    if (residences[i].device == homes[storage]) home = &residences[i];
  }
  return home;
}

std::vector<DeviceNeeds> Plan::needs() const {
  std::vector<DeviceNeeds> needs(device_names.size());
  for (const Pool& pool : pools) {
    DeviceNeeds& of_device = needs[pool.device];
    (pool.kind == PoolKind::arena ? of_device.arena_bytes : of_device.ports_bytes) += pool.peak_bytes;
  }
  std::set<std::pair<const std::byte*, uint32_t>> constants;  // storages may have one value
  for (const Residence& residence : residences) {
    if (residence.pool != kNone) continue;
    DeviceNeeds& of_device = needs[residence.device];
    const uint64_t bytes = graph->storage(residence.storage).bytes;
    if (!graph->is_constant(residence.storage))
      of_device.state_bytes += bytes;
    else if (constants.emplace(graph->constant(residence.storage).bytes().data(), residence.device).second)
      of_device.constant_bytes += bytes;
  }
  return needs;
}

Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const Graph> graph, const std::vector<Device*>& devices,
                                              const PlanOptions& options) {
  if (devices.empty())
    return failed_precondition("a plan needs at least one device, and there is none; `backplane plugins` says why",
                               "plan.no-devices");
  BP_TRY_ASSIGN(const std::vector<uint32_t> located, find_located(*graph, devices.size(), options));
  BP_TRY_ASSIGN(const Capability capability, Capability::ask(*graph, devices, options));
  auto plan = std::make_shared<Plan>();
  BP_TRY_ASSIGN(PlacementResult placed, place({*graph, capability, devices, options, located}));
  plan->placements = std::move(placed.placements);
  plan->order = std::move(placed.order);
  const SplitInput input{*graph, capability, options, located, plan->placements, plan->order};
  SplitResult& cut = placed.cut;
  if (options.reuse_memory) BP_TRY(batch_inputs(input, devices, cut));
  TaskGraph tasks = make_task_graph(input, cut);
  BP_TRY_ASSIGN(MemoryLayout layout, lay_out_memory(input, devices, cut, tasks));
  for (const Device* device : devices) plan->device_names.push_back(device->name());
  plan->mode = options.mode;
  plan->copy_bytes = cut.copy_bytes();
  plan->weight_bytes = sum_of_weights(*graph, layout.residences);
  plan->splits = std::move(cut.splits);
  plan->copies = std::move(cut.copies);
  plan->homes = std::move(cut.home);
  plan->tasks = std::move(tasks.tasks);
  plan->waits = std::move(tasks.waits);
  plan->sequential = tasks.sequential;
  plan->residences = std::move(layout.residences);
  plan->residence_at = std::move(layout.residence_at);
  plan->pools = std::move(layout.pools);
  plan->graph = std::move(graph);
  if (options.pipelined) add_carried_waits(*plan);
  return std::shared_ptr<const Plan>(std::move(plan));
}

}  // namespace backplane
