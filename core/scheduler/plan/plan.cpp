#include "backplane/scheduler/plan.hpp"

#include <algorithm>
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
    if (residence.pool == kNone && !graph.constant(residence.storage).is_null())
      bytes += graph.storage(residence.storage).bytes;
  return bytes;
}

bool can_be_located(const Graph& graph, StorageId storage) {
  return !graph.constant(storage).is_null() || (graph.storage(storage).flags & BP_TENSOR_STATE) != 0;
}

Status check_device(std::string_view what, uint32_t device, const std::vector<Device*>& devices) {
  return device < devices.size()
             ? Status()
             : invalid_argument(cat(what, " names device ", device, " of ", devices.size()), "plan.location-device");
}

Status no_such_location(const Graph& graph, std::string_view name) {
  std::vector<std::string> candidates;
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
    if (can_be_located(graph, storage)) candidates.emplace_back(graph.tensor_name(graph.storage(storage).root));
  return invalid_argument(
      cat("location names '", name, "', and the graph has no such weight or state", did_you_mean(name, candidates)),
      "plan.location-name");
}

// By storage: the device that the options put it on.
Result<std::vector<uint32_t>> find_located(const Graph& graph, const std::vector<Device*>& devices,
                                           const PlanOptions& options) {
  std::vector<uint32_t> located(graph.storage_count(), kNone);
  if (options.weights_device != kNone) {
    BP_TRY(check_device("weights_device", options.weights_device, devices));
    for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
      if (!graph.constant(storage).is_null()) located[storage] = options.weights_device;
  }
  std::unordered_map<std::string_view, uint32_t> wanted;  // name -> device
  for (const auto& [name, device] : options.locations) {
    BP_TRY(check_device(cat("location of '", name, "'"), device, devices));
    wanted.insert_or_assign(name, device);
  }
  for (StorageId storage = 0; storage < graph.storage_count() && !wanted.empty(); ++storage) {
    if (!can_be_located(graph, storage)) continue;
    const auto found = wanted.find(graph.tensor_name(graph.storage(storage).root));
    if (found == wanted.end()) continue;
    located[storage] = found->second;
    wanted.erase(found);
  }
  for (const auto& [name, device] : options.locations)
    if (wanted.contains(name)) return no_such_location(graph, name);
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

Result<std::shared_ptr<const Plan>> make_plan(std::shared_ptr<const Graph> graph, const std::vector<Device*>& devices,
                                              const PlanOptions& options) {
  if (devices.empty())
    return failed_precondition("a plan needs at least one device, and there is none; `backplane plugins` says why",
                               "plan.no-devices");
  BP_TRY_ASSIGN(const std::vector<uint32_t> located, find_located(*graph, devices, options));
  BP_TRY_ASSIGN(const Capability capability, Capability::ask(*graph, devices, options));
  auto plan = std::make_shared<Plan>();
  BP_TRY_ASSIGN(PlacementResult placed, place({*graph, capability, devices, options, located}));
  plan->placements = std::move(placed.placements);
  plan->order = std::move(placed.order);
  const SplitInput input{*graph, capability, options, located, plan->placements, plan->order};
  SplitResult cut = split_graph(input);
  if (options.reuse_memory) BP_TRY(batch_inputs(*graph, devices, cut));
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
