// Device lists: which devices are shown, in which order, and by which names they can be asked for.
//
// Thread safety: pure functions, but for name_devices, which is serialised by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/registry/notice.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

// What the user wants. Selectors are names, "<plugin-id>:<index>", "pci:dddd:bb:dd.f", "uuid:<32 hex digits>", or globs
// of these.
struct DeviceRules {
  std::vector<std::string> hide;
  std::vector<std::string> order;                // these first
  std::optional<std::vector<std::string>> only;  // these and no others, in this order; beats `order`
  std::string only_source;                       // what to call `only` in notices
  std::function<int64_t(std::string_view plugin_id)> priority = [](std::string_view) { return 0; };
};

struct DeviceList {
  std::vector<Device*> devices;
  std::vector<Notice>
      notices;  // "device.not-found" for a selector of `only` that fits nothing, and of `order` or `hide`
};

// Hidden ones are left out whatever else is said. Then `only`, or: `order`, then gpu, igpu, accel, cpu, then priority,
// then the order of `all`.
DeviceList list_devices(std::span<Device* const> all, const DeviceRules& rules);

// By type and priority alone, for the naming of new devices: equal ones stay as they are.
void sort_devices(std::vector<Device*>& devices, const DeviceRules& rules);

bool is_selected_by(const Device& device, std::string_view selector);

// Makes the names of `fresh` unique among `known` and themselves ("cpu0.2"), and tells each which earlier device shows
// the same hardware.
void name_devices(std::span<Device* const> known, std::span<Device* const> fresh);

// The parts of a comma-separated list without the spaces around them.
std::vector<std::string> split_selectors(std::string_view list);

}  // namespace backplane
