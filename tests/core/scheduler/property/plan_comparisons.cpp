#include "plan_comparisons.hpp"

#include <algorithm>
#include <functional>

#include "backplane/base/text.hpp"
#include "oracle.hpp"

namespace backplane::testing {
namespace {

using Renumber = std::function<uint32_t(uint32_t)>;

uint32_t same_number(uint32_t device) { return device; }

// What differs between two plans whose devices are numbered differently; names aside.
std::string difference(const Plan& a, const Plan& b, const Renumber& number) {
  for (NodeId node = 0; node < a.placements.size(); ++node)
    if (number(a.placements[node].device) != b.placements[node].device)
      return cat("node ", node, " is on device ", a.placements[node].device, " and then on ",
                 b.placements[node].device);
  if (a.order != b.order) return "the order changes";
  if (a.copies.size() != b.copies.size() || a.copy_bytes != b.copy_bytes)
    return cat(a.copies.size(), " copies of ", a.copy_bytes, " bytes become ", b.copies.size(), " of ", b.copy_bytes);
  for (size_t i = 0; i < a.copies.size(); ++i)
    if (a.copies[i].storage != b.copies[i].storage || number(a.copies[i].from) != b.copies[i].from ||
        number(a.copies[i].to) != b.copies[i].to || a.copies[i].offset != b.copies[i].offset)
      return cat("copy ", i, " changes");
  if (a.waits != b.waits) return "the waits change";
  if (a.residences.size() != b.residences.size()) return "the number of residences changes";
  for (size_t i = 0; i < a.residences.size(); ++i)
    if (a.residences[i].storage != b.residences[i].storage ||
        number(a.residences[i].device) != b.residences[i].device || a.residences[i].offset != b.residences[i].offset)
      return cat("the place of s", a.residences[i].storage, " changes");
  return "";
}

class Comparer {
 public:
  Comparer(const Plan& plan, const PlanQuestion& question) : plan_(plan), question_(question) {}

  std::string compare() {
    for (const auto step : {&Comparer::with_itself, &Comparer::with_renamed, &Comparer::with_greedy,
                            &Comparer::without_unused, &Comparer::with_idle})
      if (std::string fault = (this->*step)(); !fault.empty()) return fault;
    return "";
  }

 private:
  using Planned = Result<std::shared_ptr<const Plan>>;

  static std::string compare(const char* invariant, const Plan& plan, const Planned& other, const Renumber& number) {
    const std::string found = other.ok() ? difference(plan, **other, number) : other.status().to_string();
    return found.empty() ? "" : cat(invariant, ": ", found);
  }

  // 22, 23
  std::string with_itself() {
    const Planned again = make_plan(plan_.graph, question_.devices, question_.options);
    if (std::string fault = compare("22, the same question", plan_, again, same_number); !fault.empty()) return fault;
    if (question_.compare_text && plan_.to_json().dump() != (*again)->to_json().dump())
      return "22: the same question gives another text";
    return "";
  }

  // 24
  std::string with_renamed() {
    return compare("24, other names", plan_, make_plan(question_.renamed, question_.devices, question_.options),
                   same_number);
  }

  // 12
  std::string with_greedy() {
    if (plan_.mode != PlacementMode::mincomm) return "";
    PlanOptions options = question_.options;
    options.mode = PlacementMode::greedy;
    const Planned planned = make_plan(plan_.graph, question_.devices, options);
    if (!planned.ok()) return "12: " + planned.status().to_string();
    const Plan& greedy = **planned;
    if (plan_.splits.size() <= greedy.splits.size() && plan_.copies.size() <= greedy.copies.size() &&
        plan_.copy_bytes <= greedy.copy_bytes)
      return "";
    return cat("12: ", plan_.splits.size(), " splits, ", plan_.copies.size(), " copies, ", plan_.copy_bytes,
               " bytes; greedy has ", greedy.splits.size(), ", ", greedy.copies.size(), ", ", greedy.copy_bytes);
  }

  // Plans for other devices, with the options renumbered.
  Planned plan_for(const std::vector<Device*>& devices, const Renumber& number) {
    PlanOptions options = question_.options;
    if (!options.device_costs.empty()) options.device_costs = default_costs_of(devices);
    if (options.weights_device != kNone) options.weights_device = number(options.weights_device);
    for (auto& [name, device] : options.pins) device = number(device);
    return make_plan(plan_.graph, devices, options);
  }

  bool is_used(uint32_t device) const {
    const auto here = [&](const auto& item) { return item.device == device; };
    return std::ranges::any_of(plan_.placements, here) || std::ranges::any_of(plan_.residences, here) ||
           std::ranges::find(plan_.homes, device) != plan_.homes.end() || question_.options.weights_device == device;
  }

  // 37, of greedy plans: others begin with one, which may use the device. The last device stays: inputs live there.
  // Where nodes were moved at the end, to a device above or to that of a state that several write, they may have been
  // on the device that is now unused while they drew others along.
  std::string without_unused() {
    const auto upgraded = [](const Placement& placement) { return placement.cause == Cause::upgrade; };
    if (plan_.mode != PlacementMode::greedy || has_states(*plan_.graph) ||
        std::ranges::any_of(plan_.placements, upgraded))
      return "";
    std::vector<Device*> fewer = question_.devices;
    uint32_t unused = 0;
    while (unused + 1 < fewer.size() && is_used(unused)) ++unused;
    if (unused + 1 >= fewer.size()) return "";
    fewer.erase(fewer.begin() + unused);
    const Renumber number = [&](uint32_t device) { return device > unused && device != kNone ? device - 1 : device; };
    return compare("37, without an unused device", plan_, plan_for(fewer, number), number);
  }

  // 36. Before the others: the last device is where inputs live.
  std::string with_idle() {
    if (question_.idle == nullptr) return "";
    std::vector<Device*> more = question_.devices;
    more.insert(more.begin(), question_.idle);
    const Renumber number = [](uint32_t device) { return device == kNone ? device : device + 1; };
    return compare("36, with a device that runs nothing", plan_, plan_for(more, number), number);
  }

  const Plan& plan_;
  const PlanQuestion& question_;
};

}  // namespace

std::vector<DeviceCosts> default_costs_of(const std::vector<Device*>& devices) {
  std::vector<DeviceCosts> costs;
  for (const Device* device : devices) costs.push_back(default_costs(device->type()));
  return costs;
}

std::string compare_plans(const Plan& plan, const PlanQuestion& question) { return Comparer(plan, question).compare(); }

}  // namespace backplane::testing
