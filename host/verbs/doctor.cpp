// backplane doctor: the whole story of every candidate, or why not this one.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "backplane/abi/abi.h"
#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "bundle.hpp"
#include "report_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

namespace fs = std::filesystem;

void heading(const char* text) { std::printf("\n%s\n", text); }

void print_environment(const Environment& environment) {
  heading("ENVIRONMENT");
  bool any = false;
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::optional<std::string> value = environment.get(variable.name);
    if (!value || !variable.name.starts_with("BACKPLANE_")) continue;
    any = true;
    std::printf("  %s=%s\n", std::string(variable.name).c_str(), printable(*value).c_str());
  }
  if (!any) std::puts("  no variable of Backplane's is set; `backplane config variables` lists them");
}

void print_configuration(const Configuration& configuration) {
  heading("CONFIGURATION");
  if (configuration.entries.empty()) std::puts("  all defaults");
  for (const ConfigurationEntry& entry : configuration.entries)
    std::printf(
        "  %s\n",
        printable(cat(entry.key, " = ", entry.value.dump(-1), "  (", entry.file, ":", entry.line, ")")).c_str());
}

void print_places(const Runtime& runtime, const Arguments& arguments, const Environment& environment) {
  heading("PLACES LOOKED AT FOR PLUGINS, IN ORDER");
  for (const SearchEntry& entry :
       search_path({arguments.common.plugin_paths, true, environment, runtime.configuration()->plugin_folders}))
    std::printf("  %s\n", printable(cat(entry.path, ": ", place_state(entry.path), " (", entry.source, ")")).c_str());
}

void print_devices(const Runtime& runtime) {
  heading("DEVICES, BEST FIRST");
  for (const Device* device : runtime.devices())
    std::printf("  %s\n", printable(cat(device->name(), "  ", device->identity(), "  ", device->type_name(), "  ",
                                        device->description()))
                              .c_str());
  if (runtime.devices().empty()) std::puts("  none");
}

// Says in one line how things stand, and returns the exit code that goes with it.
ExitCode print_conclusion(const Runtime& runtime) {
  const std::vector<LoadReport> reports = runtime.reports();
  const std::vector<Notice> notices = runtime.notices();
  const auto failed = std::count_if(reports.begin(), reports.end(),
                                    [](const LoadReport& report) { return report.outcome == LoadOutcome::failed; });
  const auto errors = std::count_if(notices.begin(), notices.end(),
                                    [](const Notice& notice) { return notice.severity == Severity::error; });
  heading("CONCLUSION");
  for (const Notice& notice : notices) std::printf("  %s\n", to_text(notice).c_str());
  if (runtime.devices().empty()) std::puts("  no devices");
  std::printf("  %s, %s, %s\n", counted(runtime.devices().size(), "device", "devices").c_str(),
              counted(static_cast<uint64_t>(failed), "candidate failed", "candidates failed").c_str(),
              counted(static_cast<uint64_t>(errors), "error", "errors").c_str());
  return failed + errors == 0 && !runtime.devices().empty() ? ExitCode::ok : ExitCode::problems;
}

ExitCode print_everything(const Runtime& runtime, const Arguments& arguments) {
  const Environment environment = Environment::process();
  std::printf("Backplane %s, ABI %u.%u%s\n", BACKPLANE_VERSION, BP_ABI_VERSION >> 16, BP_ABI_VERSION & 0xffff,
              environment.secure() ? ", with raised privileges" : "");
  print_environment(environment);
  print_configuration(*runtime.configuration());
  print_places(runtime, arguments, environment);
  heading("CANDIDATES");
  for (const LoadReport& report : runtime.reports()) std::puts(story(report).c_str());
  if (runtime.reports().empty()) std::puts("  none");
  print_devices(runtime);
  return print_conclusion(runtime);
}

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? path : real.string();
}

bool is_path(const std::string& target) {
  std::error_code error;
  return target.find('/') != std::string::npos || fs::exists(fs::symlink_status(target, error));
}

// The reports about a file, a folder's files or a plugin id.
std::vector<LoadReport> reports_about(const Runtime& runtime, const std::string& target) {
  std::vector<LoadReport> about = runtime.reports();
  const std::string real = is_path(target) ? canonical(target) : "";
  std::erase_if(about, [&](const LoadReport& report) {
    if (real.empty()) return report.plugin_id != target;
    return canonical(report.requested) != real && report.real_path != real &&
           fs::path(canonical(report.requested)).parent_path() != real;
  });
  return about;
}

ExitCode print_stories(const std::vector<LoadReport>& reports, const CommonArguments& arguments) {
  Json list = Json::array();
  bool active = false;
  for (const LoadReport& report : reports) {
    active |= report.outcome == LoadOutcome::active;
    list.push(to_json(report));
    if (!arguments.json) std::puts(story(report).c_str());
  }
  if (arguments.json) std::puts(list.dump().c_str());
  return active ? ExitCode::ok : ExitCode::problems;
}

// A file that no search has found: what would become of it if it were named.
Result<ExitCode> print_unfound(const Arguments& arguments) {
  const std::string& target = arguments.doctor.target;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(target, error)))
    return not_found(cat("there is no file '", target, "', and no plugin of that id was found"));
  const std::string real = canonical(target);
  if (!arguments.common.json)
    std::printf(
        "%s\n  lies in no place that is looked at, or has no name ending in .json or .so, or belongs to a "
        "manifest that did not get as far as its library.\n  Name its folder with --plugin-path or "
        "BACKPLANE_ADD_PLUGIN_PATH, or in plugin_dirs of the configuration. Named directly:\n\n",
        printable(real).c_str());
  Arguments named = arguments;
  named.common.plugin_paths = {real};
  BP_TRY_ASSIGN(const auto runtime, open_runtime(named));
  print_stories(reports_about(*runtime, target), arguments.common);
  return ExitCode::problems;
}

Status unknown_plugin(const Runtime& runtime, const std::string& id) {
  std::vector<std::string> ids;
  for (const LoadReport& report : runtime.reports())
    if (!report.plugin_id.empty() && std::find(ids.begin(), ids.end(), report.plugin_id) == ids.end())
      ids.push_back(report.plugin_id);
  return not_found(cat("no plugin '", id, "' was found", did_you_mean(id, ids), "; ",
                       ids.empty() ? "there are none" : cat("there are ", join(ids, ", "))));
}

}  // namespace

Result<ExitCode> examine(const Arguments& arguments) {
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  const std::string& target = arguments.doctor.target;
  if (arguments.doctor.bundle) {
    std::puts(make_bundle(*runtime, arguments).dump().c_str());
    return ExitCode::ok;
  }
  if (!target.empty()) {
    const std::vector<LoadReport> about = reports_about(*runtime, target);
    if (!about.empty()) return print_stories(about, arguments.common);
    if (is_path(target)) return print_unfound(arguments);
    return unknown_plugin(*runtime, target);
  }
  if (!arguments.common.json) return print_everything(*runtime, arguments);
  print_stories(runtime->reports(), arguments.common);
  const std::vector<LoadReport> reports = runtime->reports();
  const bool failed = std::any_of(reports.begin(), reports.end(),
                                  [](const LoadReport& report) { return report.outcome == LoadOutcome::failed; });
  return failed || runtime->devices().empty() ? ExitCode::problems : ExitCode::ok;
}

}  // namespace backplane::cli
