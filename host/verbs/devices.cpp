// backplane devices
#include <array>
#include <cstdio>
#include <optional>
#include <set>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "folder_watch.hpp"
#include "report_text.hpp"
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
                       {"identity", Json::text(device.identity())},
                       {"alias_of", device.alias_of().empty() ? Json() : Json::text(device.alias_of())},
                       {"memory_total", memory_json(memory.total)},
                       {"memory_free", memory_json(memory.free)},
                       {"capabilities", std::move(caps)},
                       {"description", Json::text(device.description())}});
}

std::string description(const Device& device) {
  return device.alias_of().empty() ? device.description()
                                   : cat(device.description(), " (the same hardware as ", device.alias_of(), ")");
}

void print_table(const std::vector<Device*>& devices) {
  Table table({"NAME", "SELECTOR", "TYPE", "PLUGIN", "FREE", "TOTAL", "CAPABILITIES", "DESCRIPTION"});
  table.align_right({4, 5});
  for (const Device* device : devices) {
    const MemoryStats memory = memory_of(*device);
    const std::string caps = join(capabilities(*device), ",");
    table.add({device->name(), device->selector(), std::string(device->type_name()), device->plugin_id(),
               memory_text(memory.free), memory_text(memory.total), caps.empty() ? "-" : caps, description(*device)});
  }
  table.print();
}

void print_devices(const std::vector<Device*>& devices, const CommonArguments& arguments) {
  if (arguments.json) {
    Json list = Json::array();
    for (const Device* device : devices) list.push(to_json(*device));
    std::puts(list.dump().c_str());
  } else if (!devices.empty()) {
    print_table(devices);
  }
}

SearchOptions search_options(const Arguments& arguments) {
  const Environment environment = Environment::process();
  return {arguments.common.plugin_paths, true, environment, load_configuration(environment).plugin_folders};
}

ExitCode print_search_path(const Arguments& arguments) {
  Table table({"SOURCE", "PATH", "STATE"});
  Json list = Json::array();
  for (const SearchEntry& entry : search_path(search_options(arguments))) {
    const std::string state = place_state(entry.path);
    table.add({entry.source, entry.path, state});
    list.push(Json::object(
        {{"source", Json::text(entry.source)}, {"path", Json::text(entry.path)}, {"state", Json::text(state)}}));
  }
  if (arguments.common.json)
    std::puts(list.dump().c_str());
  else
    table.print();
  return ExitCode::ok;
}

// The candidates that would be loaded, and those that would not.
Result<ExitCode> print_decision(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::vector<LoadReport> reports = runtime->reports();
  if (reports.empty()) return no_devices(*runtime, arguments.common);
  Table table({"PLUGIN", "DECISION", "CODE", "LIBRARY", "MESSAGE"});
  Json list = Json::array();
  for (const LoadReport& report : reports) {
    const bool loads = report.outcome == LoadOutcome::eligible;
    table.add({report.plugin_id.empty() ? "-" : report.plugin_id, loads ? "load" : "leave", report.code,
               report.real_path.empty() ? report.requested : report.real_path, loads ? "-" : explanation(report)});
    list.push(cli::to_json(report));
  }
  if (arguments.common.json)
    std::puts(list.dump().c_str());
  else
    table.print();
  return ExitCode::ok;
}

// Says what a rescan changed: one line a device that came, one line a plugin that failed.
void print_changes(const Runtime& runtime, std::set<std::string>& shown, std::set<std::string>& told) {
  for (const Device* device : runtime.devices())
    if (shown.insert(device->selector()).second)
      std::printf("+ %s\n", printable(cat(device->name(), "  ", device->selector(), "  ", device->type_name(), "  ",
                                          description(*device)))
                                .c_str());
  for (const LoadReport& report : runtime.reports())
    if (report.outcome == LoadOutcome::failed && told.insert(cat(report.requested, "\n", report.message)).second)
      std::printf("! %s: %s\n", printable(report.requested).c_str(), printable(explanation(report)).c_str());
  std::fflush(stdout);
}

Result<ExitCode> watch_devices(const Arguments& arguments) {
  std::vector<std::string> folders;
  for (const SearchEntry& entry : search_path(search_options(arguments))) folders.push_back(entry.path);
  BP_TRY_ASSIGN(FolderWatch watch, FolderWatch::open(folders));  // before there are threads that signals could go to
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  std::set<std::string> shown, told;
  print_changes(*runtime, shown, told);
  while (watch.wait()) {
    BP_TRY(runtime->rescan());
    print_changes(*runtime, shown, told);
  }
  return ExitCode::ok;
}

}  // namespace

Result<ExitCode> list_devices(const Arguments& arguments) {
  if (arguments.devices.search_path) return print_search_path(arguments);
  if (arguments.devices.no_load) return print_decision(arguments);
  if (arguments.devices.watch) return watch_devices(arguments);
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::vector<Device*> devices = runtime->devices();
  print_devices(devices, arguments.common);
  BP_TRY(requested_failure(*runtime));
  if (devices.empty()) return no_devices(*runtime, arguments.common);
  return ExitCode::ok;
}

}  // namespace backplane::cli
