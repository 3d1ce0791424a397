#include "common.hpp"

#include <cstdio>
#include <filesystem>
#include <set>

#include "backplane/base/text.hpp"
#include "log_sink.hpp"
#include "places.hpp"
#include "report_text.hpp"

namespace backplane::cli {
namespace {

constexpr std::string_view kUsageId = "cli.usage";

// The answer to somebody who asked for a thing by name.
bool is_request(const Notice& notice) { return notice.code == "plugin.required" || notice.code == "device.not-found"; }

std::vector<std::string> errors_of(const std::vector<Notice>& notices) {
  std::vector<std::string> errors;
  for (const Notice& notice : notices)
    if (notice.severity == Severity::error && !is_request(notice)) errors.push_back(sentence(notice));
  return errors;
}

// One line, whatever there is to tell.
void tell(const std::vector<std::string>& troubles) {
  if (troubles.empty()) return;
  const std::string more =
      troubles.size() == 1 ? "" : cat("; and ", troubles.size() - 1, " more, see `backplane doctor`");
  std::fprintf(stderr, "backplane: %s\n", printable(cat(troubles[0], more)).c_str());
}

// What was asked for by name and is of no use is told at once; other candidates are the business of `plugins`.
void tell_of_requested(const Runtime& runtime, const CommonArguments& arguments) {
  std::set<std::string> requested;
  std::error_code error;
  for (const std::string& path : arguments.plugin_paths)
    requested.insert(std::filesystem::absolute(path, error).string());
  std::vector<std::string> troubles = errors_of(runtime.notices());
  for (const LoadReport& report : runtime.reports())
    if (report.outcome == LoadOutcome::failed &&
        (report.code.starts_with("path.") || requested.contains(report.requested)))
      troubles.push_back(cat("plugin path: ", report.message));
  tell(troubles);
}

// These print what fails themselves.
bool tells_all(const Arguments& arguments) {
  return (arguments.verb == Verb::doctor && arguments.doctor.target.empty()) ||
         (arguments.verb == Verb::devices && arguments.devices.watch);
}
bool uses_devices(Verb verb) { return verb == Verb::plan || verb == Verb::run; }

}  // namespace

Status usage_error(std::string message) { return invalid_argument(std::move(message), kUsageId); }

ExitCode exit_code(const Status& failure) {
  // What --pin and --location name is known to be wrong only once the model is there.
  for (const std::string_view id :
       {kUsageId, std::string_view("plan.pin-node"), std::string_view("plan.location-name")})
    if (failure.id() == id) return ExitCode::usage;
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
  if (!tells_all(arguments)) tell_of_requested(*runtime, common);
  if (uses_devices(arguments.verb)) BP_TRY(requested_failure(*runtime));
  return runtime;
}

void tell_of_errors(const std::vector<Notice>& notices) { tell(errors_of(notices)); }

Status requested_failure(const Runtime& runtime) {
  for (const Notice& notice : runtime.notices())
    if (notice.severity == Severity::error && is_request(notice))
      return not_found(notice.hint.empty() ? notice.message : cat(notice.message, "; ", notice.hint), notice.code);
  return {};
}

Status no_devices(const Runtime& runtime, const CommonArguments& arguments) {
  const size_t count = runtime.reports().size();
  if (count != 0)
    return failed_precondition(cat("no devices: ", counted(count, "plugin candidate", "plugin candidates"),
                                   " found, none of use; `backplane plugins` or `backplane doctor` says why"));
  std::vector<std::string> paths;
  for (Place& place : places(arguments, *runtime.configuration())) paths.push_back(std::move(place.path));
  if (paths.empty())
    return failed_precondition("no devices: BACKPLANE_PLUGIN_PATH is set and names no folder; unset it or name one");
  return failed_precondition(cat("no devices: no plugin was found in ", join(paths, ", "),
                                 "; name another folder with --plugin-path or BACKPLANE_PLUGIN_PATH"));
}

Result<NamedText> split_named(const std::string& argument, std::string_view option) {
  const size_t at = argument.find('=');
  if (at == std::string::npos || at == 0)
    return usage_error(cat(option, " '", argument, "' is not of the form NAME=...; see --help"));
  return NamedText{argument.substr(0, at), argument.substr(at + 1)};
}

}  // namespace backplane::cli
