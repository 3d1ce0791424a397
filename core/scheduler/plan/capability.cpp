#include "scheduler/plan/capability.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "scheduler/memory/device_memory.hpp"

namespace backplane {

Capability::Capability(std::vector<NodeAnswers> answers, std::vector<std::vector<Access>> in_place)
    : answers_(std::move(answers)),
      in_place_(std::move(in_place)),
      buffer_limits_(answers_.size(), 0),
      import_limits_(answers_.size(), 0) {
  for (uint32_t device = 0; device < device_count(); ++device) {
    unusable_.emplace_back(answers_[device].empty() ? "no answers" : "");
    if (!answers_[device].empty()) last_device_ = device;
  }
}

Result<Capability> Capability::ask(const Graph& graph, const std::vector<Device*>& devices,
                                   const PlanOptions& options) {
  Capability capability;
  capability.answers_.resize(devices.size());
  capability.unusable_.assign(devices.size(), "excluded");
  bool any = false;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (std::ranges::find(options.excluded_devices, device) != options.excluded_devices.end()) continue;
    Result<NodeAnswers> answers = devices[device]->query(graph.abi());
    if (!answers.ok()) {
      capability.unusable_[device] = answers.status().message();
      continue;
    }
    capability.answers_[device] = std::move(answers).value();
    capability.last_device_ = device;
    capability.unusable_[device].clear();
    any = true;
  }
  if (!any)
    return failed_precondition(cat("no device can be used: ", join(capability.unusable_, ", ")), "plan.no-devices");
  for (const auto& [node, device] : options.refusals)
    if (device < devices.size() && node < capability.answers_[device].size())
      capability.answers_[device].set(node, BP_VERDICT_NO, "it took the node when asked, and refused it later");
  capability.last_is_host_ = is_mappable(*devices[capability.last_device_], kComputeMemtype);
  for (const Device* from : devices) {
    std::vector<bool>& row = capability.staged_.emplace_back();
    for (const Device* to : devices)
      row.push_back(!is_mappable(*from, kComputeMemtype) && !reach_each_other(*from, *to));
  }
  for (const Device* device : devices)
    capability.copies_beside_.push_back(device->has(BP_CAP_ASYNC) && device->has(BP_CAP_EVENTS));
  capability.ask_for_access(graph, devices);
  return capability;
}

// Memory is taken by whole buffers, so a device with small buffers keeps those of others small, or reads copies.
void Capability::ask_for_access(const Graph& graph, const std::vector<Device*>& devices) {
  uint64_t largest = 0;
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
    largest = std::max(largest, graph.storage(storage).bytes);
  for (const Device* device : devices) {
    buffer_limits_.push_back(device->memory_types()[kComputeMemtype].max_bytes);
    import_limits_.push_back(import_limit(*device));
  }
  for (size_t reader = 0; reader < devices.size(); ++reader) {
    std::vector<Access>& row = in_place_.emplace_back(devices.size(), Access::none);
    row[reader] = usable(reader) ? Access::write : Access::none;
    const bool takes_all = import_limits_[reader] == 0 || largest <= import_limits_[reader];
    for (size_t owner = 0; owner < devices.size(); ++owner) {
      if (reader == owner || !usable(reader) || !usable(owner)) continue;
      const uint32_t access = access_to(*devices[reader], *devices[owner]);
      if ((access & BP_ACCESS_READ_IN_PLACE) == 0 || !takes_all) continue;
      row[owner] = (access & BP_ACCESS_WRITE_IN_PLACE) != 0 ? Access::write : Access::read;
    }
  }
}

std::vector<uint64_t> Capability::buffer_limits(std::span<const Split> splits) const {
  std::vector<uint64_t> limits = buffer_limits_;
  std::vector<bool> limiting(device_count(), false);
  for (const Split& split : splits) limiting[split.device] = import_limits_[split.device] != 0;
  for (uint32_t reader = 0; reader < device_count(); ++reader)
    for (uint32_t owner = 0; owner < device_count(); ++owner)
      if (limiting[reader] && owner != reader && reads_in_place(reader, owner))
        limits[owner] = limits[owner] == 0 ? import_limits_[reader] : std::min(limits[owner], import_limits_[reader]);
  return limits;
}

uint32_t Capability::first_runner(NodeId node) const {
  for (uint32_t device = 0; device < device_count(); ++device)
    if (runs(node, device)) return device;
  return kNone;
}

}  // namespace backplane
