#include "plan_comparisons.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane::testing {
namespace {

using Devices = std::vector<Device*>;

Result<std::shared_ptr<const Plan>> plan_again(const Plan& plan, const Devices& devices, const PlanOptions& options) {
  return make_plan(plan.graph, devices, options);
}

// 22, 23
std::string compare_with_itself(const Plan& plan, const Devices& devices, const PlanOptions& options) {
  const auto again = plan_again(plan, devices, options);
  if (!again.ok()) return "22: " + again.status().to_string();
  return plan.to_json().dump() == (*again)->to_json().dump() ? "" : "22: the same question has got another plan";
}

// 12
std::string compare_with_greedy(const Plan& plan, const Devices& devices, PlanOptions options) {
  if (plan.mode != PlacementMode::mincomm) return "";
  options.mode = PlacementMode::greedy;
  const auto greedy = plan_again(plan, devices, options);
  if (!greedy.ok()) return "12: " + greedy.status().to_string();
  if (plan.splits.size() <= (*greedy)->splits.size() && plan.copies.size() <= (*greedy)->copies.size() &&
      plan.copy_bytes <= (*greedy)->copy_bytes)
    return "";
  return cat("12: ", plan.splits.size(), " splits, ", plan.copies.size(), " copies, ", plan.copy_bytes,
             " bytes; greedy has ", (*greedy)->splits.size(), ", ", (*greedy)->copies.size(), ", ",
             (*greedy)->copy_bytes);
}

bool is_used(const Plan& plan, uint32_t device) {
  const auto here = [&](const auto& item) { return item.device == device; };
  return std::ranges::any_of(plan.placements, here) || std::ranges::any_of(plan.residences, here) ||
         std::ranges::find(plan.homes, device) != plan.homes.end();
}

// 37. The last device stays: inputs live there, used or not.
std::string compare_without_unused(const Plan& plan, const Devices& devices, PlanOptions options) {
  uint32_t unused = 0;
  while (unused + 1 < devices.size() && is_used(plan, unused)) ++unused;
  if (unused + 1 >= devices.size() || options.weights_device == unused) return "";
  const auto renumbered = [&](uint32_t device) { return device > unused && device != kNone ? device - 1 : device; };
  options.weights_device = renumbered(options.weights_device);
  for (auto& [name, device] : options.pins) device = renumbered(device);
  Devices fewer = devices;
  fewer.erase(fewer.begin() + unused);
  const auto less = plan_again(plan, fewer, options);
  if (!less.ok()) return "37: " + less.status().to_string();
  for (NodeId node = 0; node < plan.placements.size(); ++node)
    if (renumbered(plan.placements[node].device) != (*less)->placements[node].device)
      return cat("37: node ", node, " moves from device ", plan.placements[node].device, " when the unused device ",
                 unused, " is taken away");
  if (plan.order != (*less)->order || plan.copies.size() != (*less)->copies.size() ||
      plan.copy_bytes != (*less)->copy_bytes)
    return cat("37: order or copies change when the unused device ", unused, " is taken away");
  return "";
}

}  // namespace

std::string compare_plans(const Plan& plan, const Devices& devices, const PlanOptions& options) {
  std::string fault = compare_with_itself(plan, devices, options);
  if (fault.empty()) fault = compare_with_greedy(plan, devices, options);
  if (fault.empty()) fault = compare_without_unused(plan, devices, options);
  return fault;
}

}  // namespace backplane::testing
