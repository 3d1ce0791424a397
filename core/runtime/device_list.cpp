#include "device_list.hpp"

#include <algorithm>
#include <set>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// The place of a device type in the list.
int type_order(uint32_t type) {
  switch (type) {
    case BP_DEVICE_GPU:
      return 0;
    case BP_DEVICE_IGPU:
      return 1;
    case BP_DEVICE_CPU:
      return 3;
    default:
      return 2;
  }
}

bool is_hidden(const Device& device, const DeviceRules& rules) {
  return std::any_of(rules.hide.begin(), rules.hide.end(),
                     [&](const std::string& selector) { return is_selected_by(device, selector); });
}

// Moves the devices that a selector fits from one list to the end of the other; false if there is none.
bool take(std::vector<Device*>& from, std::vector<Device*>& to, const std::string& selector) {
  const auto rest = std::stable_partition(from.begin(), from.end(),
                                          [&](const Device* device) { return is_selected_by(*device, selector); });
  const bool found = rest != from.begin();
  to.insert(to.end(), from.begin(), rest);
  from.erase(from.begin(), rest);
  return found;
}

Notice unmatched(Severity severity, std::string_view source, const std::string& selector,
                 std::span<Device* const> all) {
  std::vector<std::string> names, choices;
  for (const Device* device : all) {
    names.push_back(device->name());
    choices.push_back(device->name());
    choices.push_back(device->selector());
  }
  return {severity,
          "device.not-found",
          cat(source, ": no device '", selector, "'", did_you_mean(selector, choices), "; ",
              names.empty() ? "there are none" : cat("there are ", join(names, ", "))),
          "`backplane devices` lists names and selectors",
          "",
          0,
          0};
}

// Two drivers of one device; two devices with one uuid but different buses are two.
bool same_hardware(const Device& a, const Device& b) {
  if (!a.bus_id().empty() && !b.bus_id().empty()) return a.bus_id() == b.bus_id();
  return a.has_uuid() && a.uuid() == b.uuid();
}

}  // namespace

bool is_selected_by(const Device& device, std::string_view selector) {
  const std::string lower = to_lower(selector);
  if (!device.bus_id().empty() && glob_match(lower, cat("pci:", device.bus_id()))) return true;
  if (device.has_uuid() && lower.starts_with("uuid:")) {
    std::string plain = lower;
    std::erase(plain, '-');
    if (glob_match(plain, cat("uuid:", device.uuid_text()))) return true;
  }
  return glob_match(selector, device.name()) || glob_match(selector, device.selector());
}

void sort_devices(std::vector<Device*>& devices, const DeviceRules& rules) {
  std::stable_sort(devices.begin(), devices.end(), [&](const Device* a, const Device* b) {
    const int type_a = type_order(a->type()), type_b = type_order(b->type());
    if (type_a != type_b) return type_a < type_b;
    return rules.priority(a->plugin_id()) > rules.priority(b->plugin_id());
  });
}

DeviceList list_devices(std::span<Device* const> all, const DeviceRules& rules) {
  DeviceList list;
  for (const std::string& selector : rules.hide)
    if (std::none_of(all.begin(), all.end(), [&](const Device* device) { return is_selected_by(*device, selector); }))
      list.notices.push_back(unmatched(Severity::info, "devices.hide", selector, all));
  std::vector<Device*> rest;
  std::copy_if(all.begin(), all.end(), std::back_inserter(rest),
               [&](const Device* device) { return !is_hidden(*device, rules); });
  sort_devices(rest, rules);
  const std::vector<Device*> shown = rest;
  for (const std::string& selector : rules.only ? *rules.only : rules.order) {
    const bool known = take(rest, list.devices, selector) ||
                       std::any_of(shown.begin(), shown.end(),
                                   [&](const Device* device) { return is_selected_by(*device, selector); });
    if (!known)
      list.notices.push_back(unmatched(rules.only ? Severity::error : Severity::info,
                                       rules.only ? rules.only_source : "devices.order", selector, shown));
  }
  if (!rules.only) list.devices.insert(list.devices.end(), rest.begin(), rest.end());
  return list;
}

void name_devices(std::span<Device* const> known, std::span<Device* const> fresh) {
  std::set<std::string> names;
  std::vector<const Device*> earlier(known.begin(), known.end());
  for (const Device* device : known) names.insert(device->name());
  for (Device* device : fresh) {
    std::string name = device->name();
    for (int i = 2; !names.insert(name).second; ++i) name = cat(device->name(), ".", i);
    device->rename(std::move(name));
    const auto twin = std::find_if(earlier.begin(), earlier.end(), [&](const Device* other) {
      return other->alias_of().empty() && same_hardware(*other, *device);
    });
    if (twin != earlier.end()) device->set_alias_of((*twin)->selector());
    earlier.push_back(device);
  }
}

std::vector<std::string> split_selectors(std::string_view list) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view part = list.substr(at, comma - at);
    const size_t begin = part.find_first_not_of(' ');
    parts.emplace_back(begin == std::string_view::npos ? std::string_view()
                                                       : part.substr(begin, part.find_last_not_of(' ') - begin + 1));
    at = comma + 1;
  }
  return parts;
}

}  // namespace backplane
