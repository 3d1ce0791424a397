// backplane devices
#include <array>
#include <cstdio>
#include <optional>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

std::vector<std::string> capabilities(const Device& device) {
  constexpr std::array<std::pair<uint64_t, const char*>, 6> kNames = {{{BP_CAP_ASYNC, "async"},
                                                                       {BP_CAP_EVENTS, "events"},
                                                                       {BP_CAP_IMPORT_HOST, "import-host"},
                                                                       {BP_CAP_PEER_COPY, "peer-copy"},
                                                                       {BP_CAP_CANCEL, "cancel"},
                                                                       {BP_CAP_PROGRAMS, "programs"}}};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames)
    if (device.has(bit)) names.push_back(name);
  return names;
}

std::string memory_text(std::optional<uint64_t> bytes) { return bytes ? bytes_text(*bytes) : "unknown"; }

Json memory_json(std::optional<uint64_t> bytes) { return bytes ? Json::integer(static_cast<int64_t>(*bytes)) : Json(); }

// Figures that a device cannot tell are unknown, not a reason to leave the device out.
MemoryStats memory_of(const Device& device) {
  const Result<MemoryStats> stats = device.memory();
  return stats.ok() ? *stats : MemoryStats();
}

Json to_json(const Device& device) {
  const MemoryStats memory = memory_of(device);
  Json caps = Json::array();
  for (const std::string& name : capabilities(device)) caps.push(Json::text(name));
  return Json::object({{"name", Json::text(device.name())},
                       {"selector", Json::text(device.selector())},
                       {"type", Json::text(std::string(device.type_name()))},
                       {"plugin", Json::text(device.plugin_id())},
                       {"memory_total", memory_json(memory.total)},
                       {"memory_free", memory_json(memory.free)},
                       {"capabilities", std::move(caps)},
                       {"description", Json::text(device.description())}});
}

void print_table(const std::vector<Device*>& devices) {
  Table table({"NAME", "SELECTOR", "TYPE", "PLUGIN", "FREE", "TOTAL", "CAPABILITIES", "DESCRIPTION"});
  table.align_right({4, 5});
  for (const Device* device : devices) {
    const MemoryStats memory = memory_of(*device);
    const std::string caps = join(capabilities(*device), ",");
    table.add({device->name(), device->selector(), std::string(device->type_name()), device->plugin_id(),
               memory_text(memory.free), memory_text(memory.total), caps.empty() ? "-" : caps, device->description()});
  }
  table.print();
}

}  // namespace

Result<ExitCode> list_devices(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::vector<Device*>& devices = runtime->devices();
  if (arguments.common.json) {
    Json list = Json::array();
    for (const Device* device : devices) list.push(to_json(*device));
    std::puts(list.dump().c_str());
  } else if (!devices.empty()) {
    print_table(devices);
  }
  if (devices.empty()) return no_devices(*runtime, arguments.common);
  return ExitCode::ok;
}

}  // namespace backplane::cli
