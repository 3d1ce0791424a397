// backplane doctor: the whole story of every candidate, or why not this one.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "backplane/abi/abi.h"
#include "backplane/base/text.hpp"
#include "backplane/registry/plugin_file.hpp"
#include "bundle.hpp"
#include "device_text.hpp"
#include "json_output.hpp"
#include "places.hpp"
#include "report_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

namespace fs = std::filesystem;

void heading(const char* text) { std::printf("\n%s\n", text); }

// Those of Backplane's own, and those that lead the system's loader.
void print_environment(const Environment& environment) {
  heading("ENVIRONMENT");
  bool any = false;
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::optional<std::string> value = environment.get(variable.name);
    if (!value || variable.name == "HOME") continue;
    any = true;
    std::printf("  %s\n", printable(cat(variable.name, "=", *value)).c_str());
  }
  if (!any) std::puts("  no variable is set; `backplane config variables` lists them");
}

// Below a heading, two spaces to the right.
void print_indented(const std::string& lines) {
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    std::printf("  %s\n", lines.substr(at, end - at).c_str());
    at = end + 1;
  }
}

void print_configuration(const Configuration& configuration) {
  heading("CONFIGURATION");
  Table table({"KEY", "VALUE", "ORIGIN"});
  for (const ConfigurationEntry& entry : configuration.entries)
    table.add({entry.key, entry.value.dump(-1), origin_text(entry)});
  print_indented(configuration.entries.empty() ? "all defaults" : table.to_string());
}

void print_candidates(const std::vector<LoadReport>& reports) {
  heading("CANDIDATES");
  for (const LoadReport& report : reports)
    std::printf("%s%s", &report == &reports.front() ? "" : "\n", story(report).c_str());
  if (reports.empty()) std::puts("  none");
}

void print_devices(const std::vector<Device*>& devices) {
  heading("DEVICES, BEST FIRST");
  print_indented(devices.empty() ? "none" : devices_table(devices).to_string());
}

uint64_t errors_in(const std::vector<Notice>& notices) {
  return static_cast<uint64_t>(std::count_if(notices.begin(), notices.end(),
                                             [](const Notice& notice) { return notice.severity == Severity::error; }));
}

// What there is to say besides, and in one line how things stand.
void print_conclusion(const Runtime& runtime) {
  const std::vector<LoadReport> reports = runtime.reports();
  const std::vector<Notice> notices = runtime.notices();
  const auto failed = std::count_if(reports.begin(), reports.end(),
                                    [](const LoadReport& report) { return report.outcome == LoadOutcome::failed; });
  heading("CONCLUSION");
  for (const Notice& notice : notices) std::printf("  %s\n", to_text(notice).c_str());
  std::printf("  %s, %s, %s\n", counted(runtime.devices().size(), "device", "devices").c_str(),
              counted(static_cast<uint64_t>(failed), "candidate failed", "candidates failed").c_str(),
              counted(errors_in(notices), "error", "errors").c_str());
}

void print_everything(const Runtime& runtime, const Arguments& arguments) {
  const Environment environment = Environment::process();
  std::printf("Backplane %s, ABI %u.%u%s\n", BACKPLANE_VERSION, BP_ABI_VERSION >> 16, BP_ABI_VERSION & 0xffff,
              environment.secure() ? ", with raised privileges" : "");
  print_environment(environment);
  print_configuration(*runtime.configuration());
  heading("PLACES LOOKED AT FOR PLUGINS, IN ORDER");
  print_indented(places_table(places(arguments.common, *runtime.configuration())).to_string());
  print_candidates(runtime.reports());
  print_devices(runtime.devices());
  print_conclusion(runtime);
}

ExitCode examine_all(const Runtime& runtime, const Arguments& arguments) {
  if (arguments.common.json)
    print_json(full_report(runtime, arguments));
  else
    print_everything(runtime, arguments);
  const bool well = all_well(runtime.reports()) && errors_in(runtime.notices()) == 0 && !runtime.devices().empty();
  return well ? ExitCode::ok : ExitCode::problems;
}

std::string canonical(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return path;
  return real.has_filename() ? real.string() : real.parent_path().string();  // not "folder/"
}

bool is_path(const std::string& target) {
  std::error_code error;
  return target.find('/') != std::string::npos || fs::exists(fs::symlink_status(target, error));
}

bool is_about_path(const LoadReport& report, const std::string& path) {
  const std::string requested = canonical(report.requested);
  return requested == path || report.real_path == path || fs::path(requested).parent_path() == path;
}

// Of an id its last words are enough: "cpu" of "org.backplane.cpu".
bool is_about_name(const LoadReport& report, const std::string& name) {
  return report.plugin_id == name || report.plugin_id.ends_with("." + name) ||
         fs::path(report.requested).filename() == name || fs::path(report.library_path).filename() == name;
}

// A manifest that was set aside before its library was looked at does not name the library in its report.
bool names_library(const LoadReport& report, const std::string& path) {
  return report.library_path.empty() &&
         check_plugin_file(report.requested, Environment::process()).library_path == path;
}

// The reports about a file, a folder's files, a plugin id or a file's name.
std::vector<LoadReport> reports_about(const Runtime& runtime, const std::string& target) {
  const std::string path = is_path(target) ? canonical(target) : "";
  std::vector<LoadReport> about;
  for (const LoadReport& report : runtime.reports())
    if (path.empty() ? is_about_name(report, target) : is_about_path(report, path)) about.push_back(report);
  if (!about.empty() || path.empty()) return about;
  for (const LoadReport& report : runtime.reports())
    if (names_library(report, path)) about.push_back(report);
  return about;
}

ExitCode print_stories(const std::vector<LoadReport>& reports, const CommonArguments& arguments) {
  if (arguments.json) print_json(to_json(reports));
  for (const LoadReport& report : reports)
    if (!arguments.json) std::printf("%s%s", &report == &reports.front() ? "" : "\n", story(report).c_str());
  return all_well(reports) ? ExitCode::ok : ExitCode::problems;
}

bool is_candidate_name(const std::string& name) {
  const std::string lower = to_lower(name);
  return !name.starts_with('.') && (lower.ends_with(".json") || lower.ends_with(".so"));
}

// Why no search has found the file or folder.
std::string why_unfound(const Runtime& runtime, const CommonArguments& arguments, const fs::path& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (!folder && !is_candidate_name(path.filename().string()))
    return "its name does not end in .json or .so, or begins with a dot";
  const fs::path place = folder ? path : path.parent_path();
  for (const Place& known : places(arguments, *runtime.configuration()))
    if (canonical(known.path) == place) return "it came after the search";
  return cat("'", place.string(), "' is not among the places looked at; name it with --plugin-path or ",
             "BACKPLANE_ADD_PLUGIN_PATH, or in plugin_dirs of the configuration");
}

// A file that no search has found: what would become of it if its folder, or it, were named.
Result<ExitCode> print_unfound(const Runtime& runtime, const Arguments& arguments) {
  const std::string& target = arguments.doctor.target;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(target, error)))
    return not_found(cat("there is no file '", target, "', and no plugin of that id was found"));
  const fs::path path = canonical(target);
  const std::string why = why_unfound(runtime, arguments.common, path);
  Arguments named = arguments;
  const bool by_folder = !fs::is_directory(path, error) && is_candidate_name(path.filename().string());
  named.common.plugin_paths = {by_folder ? path.parent_path().string() : path.string()};
  BP_TRY_ASSIGN(const auto again, open_runtime(named));
  std::vector<LoadReport> about = reports_about(*again, target);
  if (about.empty())
    return failed_precondition(cat("'", path.string(), "' has no file whose name ends in .json or .so"));
  for (LoadReport& report : about) report.notes.insert(report.notes.begin(), cat("it is not found by itself: ", why));
  print_stories(about, arguments.common);
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
    print_json(make_bundle(*runtime, arguments));
    return ExitCode::ok;
  }
  if (target.empty()) return examine_all(*runtime, arguments);
  const std::vector<LoadReport> about = reports_about(*runtime, target);
  if (!about.empty()) return print_stories(about, arguments.common);
  if (is_path(target)) return print_unfound(*runtime, arguments);
  return unknown_plugin(*runtime, target);
}

}  // namespace backplane::cli
