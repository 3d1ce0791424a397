#include "device_text.hpp"

#include <array>
#include <optional>

#include "backplane/base/text.hpp"

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

}  // namespace

Json to_json(const Device& device) {
  const MemoryStats memory = memory_of(device);
  Json caps = Json::array();
  for (const std::string& name : capabilities(device)) caps.push(Json::text(name));
  return Json::object({{"name", Json::text(device.name())},
                       {"selector", Json::text(device.selector())},
                       {"type", Json::text(std::string(device.type_name()))},
                       {"plugin", Json::text(device.plugin_id())},
                       {"identity", Json::text(device.identity())},
                       {"alias_of", device.alias_of().empty() ? Json() : Json::text(device.alias_of())},
                       {"memory_total", memory_json(memory.total)},
                       {"memory_free", memory_json(memory.free)},
                       {"capabilities", std::move(caps)},
                       {"description", Json::text(device.description())}});
}

std::string device_description(const Device& device) {
  return device.alias_of().empty() ? device.description()
                                   : cat(device.description(), " (the same hardware as ", device.alias_of(), ")");
}

Json to_json(const std::vector<Device*>& devices) {
  Json list = Json::array();
  for (const Device* device : devices) list.push(to_json(*device));
  return list;
}

Table devices_table(const std::vector<Device*>& devices) {
  Table table({"NAME", "SELECTOR", "TYPE", "PLUGIN", "FREE", "TOTAL", "CAPABILITIES", "DESCRIPTION"});
  table.align_right({4, 5});
  for (const Device* device : devices) {
    const MemoryStats memory = memory_of(*device);
    const std::string caps = join(capabilities(*device), ",");
    table.add({device->name(), device->selector(), std::string(device->type_name()), device->plugin_id(),
               memory_text(memory.free), memory_text(memory.total), caps.empty() ? "-" : caps,
               device_description(*device)});
  }
  return table;
}

}  // namespace backplane::cli
