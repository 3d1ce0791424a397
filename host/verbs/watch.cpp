// backplane devices --watch
#include <cstdio>
#include <set>

#include "backplane/base/text.hpp"
#include "device_text.hpp"
#include "folder_watch.hpp"
#include "json_output.hpp"
#include "places.hpp"
#include "report_text.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

// Tells each thing once: devices that came, and what a plugin or the configuration suffers from.
class Changes {
 public:
  explicit Changes(bool json) : json_(json) {}

  void print(const Runtime& runtime) {
    for (const Device* device : runtime.devices()) print(*device);
    for (const LoadReport& report : runtime.reports())
      if (report.outcome == LoadOutcome::failed || report.code == "library.restart-needed") print(report);
    for (const Notice& notice : runtime.notices())
      if (notice.severity == Severity::error) print(notice);
    std::fflush(stdout);
  }

  void print(const Device& device) {
    if (!told_.insert(cat("device\n", device.selector())).second) return;
    print(
        "device", json_ ? to_json(device) : Json(),
        cat("+ ", device.name(), "  ", device.selector(), "  ", device.type_name(), "  ", device_description(device)));
  }
  void print(const LoadReport& report) {
    if (!told_.insert(cat("report\n", report.requested, "\n", report.code, "\n", report.message)).second) return;
    print("plugin", to_json(report), cat("! ", report.requested, ": ", explanation(report)));
  }
  void print(const Notice& notice) {
    if (!told_.insert(cat("notice\n", sentence(notice))).second) return;
    print("notice", to_json(notice), cat("! ", sentence(notice)));
  }

 private:
  void print(const char* kind, Json json, const std::string& text) const {
    if (json_)
      print_json_line(Json::object({{kind, std::move(json)}}));
    else
      std::puts(printable(text).c_str());
  }

  const bool json_;
  std::set<std::string> told_;
};

// Where plugins and configuration files may come; the configuration may name other places by now.
std::vector<std::string> watched_folders(const CommonArguments& arguments) {
  const Environment environment = Environment::process();
  std::vector<std::string> folders = configuration_folders(environment);
  for (Place& place : places(arguments, load_configuration(environment))) folders.push_back(std::move(place.path));
  return folders;
}

}  // namespace

Result<ExitCode> watch_devices(const Arguments& arguments) {
  BP_TRY_ASSIGN(FolderWatch watch, FolderWatch::open());  // before there are threads that signals could go to
  BP_TRY(watch.add(watched_folders(arguments.common)));
  BP_TRY_ASSIGN(const auto runtime, open_runtime(arguments));
  Changes changes(arguments.common.json);
  changes.print(*runtime);
  if (runtime->devices().empty()) std::fputs("backplane: no devices yet; watching\n", stderr);
  while (watch.wait()) {
    // First the watch, so that what comes during the scan is not missed.
    BP_TRY(watch.add(watched_folders(arguments.common)));
    if (const Status status = runtime->rescan(); !status.ok())
      changes.print(Notice{Severity::error, status.id(), status.message(), "what was in force stays", "", 0, 0});
    else
      changes.print(*runtime);
  }
  return ExitCode::ok;
}

}  // namespace backplane::cli
