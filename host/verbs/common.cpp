#include "common.hpp"

#include <cstdio>
#include <filesystem>
#include <set>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "log_sink.hpp"
#include "report_text.hpp"

namespace backplane::cli {
namespace {

constexpr std::string_view kUsageId = "cli.usage";

// The answer to somebody who asked for a thing by name.
bool is_request(const Notice& notice) { return notice.code == "plugin.required" || notice.code == "device.not-found"; }

// What was asked for by name and is of no use is told at once; other candidates are the business of `plugins`.
void tell_of_requested(const Runtime& runtime, const CommonArguments& arguments) {
  std::set<std::string> requested;
  std::error_code error;
  for (const std::string& path : arguments.plugin_paths)
    requested.insert(std::filesystem::absolute(path, error).string());
  for (const LoadReport& report : runtime.reports())
    if (report.outcome == LoadOutcome::failed &&
        (report.code.starts_with("path.") || requested.contains(report.requested)))
      std::fprintf(stderr, "backplane: plugin path: %s\n", printable(report.message).c_str());
  for (const Notice& notice : runtime.notices())
    if (notice.severity == Severity::error && !is_request(notice))
      std::fprintf(stderr, "backplane: %s\n", to_text(notice).c_str());
}

// These verbs print reports and notices themselves.
bool tells_all(Verb verb) { return verb == Verb::plugins || verb == Verb::doctor; }
bool uses_devices(Verb verb) { return verb == Verb::plan || verb == Verb::run; }

}  // namespace

Status usage_error(std::string message) { return invalid_argument(std::move(message), kUsageId); }

ExitCode exit_code(const Status& failure) {
  if (failure.id() == kUsageId) return ExitCode::usage;
  return failure.code() == Code::not_found ? ExitCode::missing : ExitCode::problems;
}

Result<std::unique_ptr<Runtime>> open_runtime(const Arguments& arguments) {
  const CommonArguments& common = arguments.common;
  auto logger = std::make_shared<Logger>(stderr_sink());
  if (const Status status = logger->configure(common.log_spec); !status.ok())
    return usage_error(cat("--log ", common.log_spec, ": ", status.message()));
  RuntimeOptions options;
  options.plugin_paths = common.plugin_paths;
  options.logger = std::move(logger);
  options.load = !(arguments.verb == Verb::devices && arguments.devices.no_load);
  options.probe_again = arguments.doctor.retry;
  BP_TRY_ASSIGN(auto runtime, Runtime::open(std::move(options)));
  if (!tells_all(arguments.verb)) tell_of_requested(*runtime, common);
  if (uses_devices(arguments.verb)) BP_TRY(requested_failure(*runtime));
  return runtime;
}

Status requested_failure(const Runtime& runtime) {
  for (const Notice& notice : runtime.notices())
    if (notice.severity == Severity::error && is_request(notice))
      return not_found(notice.hint.empty() ? notice.message : cat(notice.message, "; ", notice.hint), notice.code);
  return {};
}

std::string place_state(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    return error && error != std::errc::no_such_file_or_directory ? error.message() : "not there";
  if (!std::filesystem::is_directory(status)) return "a file";
  uint64_t count = 0;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = to_lower(at->path().filename().string());
    count += !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".so"));
  }
  return error ? error.message() : cat("a folder with ", counted(count, "candidate", "candidates"));
}

Status no_devices(const Runtime& runtime, const CommonArguments& arguments) {
  const size_t count = runtime.reports().size();
  if (count != 0)
    return failed_precondition(cat("no devices: ", counted(count, "plugin candidate", "plugin candidates"),
                                   " found, none of use; `backplane plugins` or `backplane doctor` says why"));
  std::vector<std::string> places;
  for (const SearchEntry& entry :
       search_path({arguments.plugin_paths, true, Environment::process(), runtime.configuration()->plugin_folders}))
    places.push_back(entry.path);
  if (places.empty())
    return failed_precondition("no devices: BACKPLANE_PLUGIN_PATH is set and names no folder; unset it or name one");
  return failed_precondition(cat("no devices: no plugin was found in ", join(places, ", "),
                                 "; name another folder with --plugin-path or BACKPLANE_PLUGIN_PATH"));
}

Result<NamedText> split_named(const std::string& argument, std::string_view option) {
  const size_t at = argument.find('=');
  if (at == std::string::npos || at == 0)
    return usage_error(cat(option, " '", argument, "' is not of the form NAME=...; see --help"));
  return NamedText{argument.substr(0, at), argument.substr(at + 1)};
}

}  // namespace backplane::cli
