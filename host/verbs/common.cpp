#include "common.hpp"

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "log_sink.hpp"

namespace backplane::cli {
namespace {

constexpr std::string_view kUsageId = "cli.usage";

}  // namespace

Status usage_error(std::string message) { return invalid_argument(std::move(message), kUsageId); }

ExitCode exit_code(const Status& failure) {
  if (failure.id() == kUsageId) return ExitCode::usage;
  return failure.code() == Code::not_found ? ExitCode::missing : ExitCode::problems;
}

Result<std::unique_ptr<Runtime>> open_runtime(const CommonArguments& arguments) {
  auto logger = std::make_shared<Logger>(stderr_sink());
  if (const Status status = logger->configure(arguments.log_spec); !status.ok())
    return usage_error(cat("--log ", arguments.log_spec, ": ", status.message()));
  RuntimeOptions options;
  options.plugin_paths = arguments.plugin_paths;
  options.logger = std::move(logger);
  return Runtime::open(std::move(options));
}

Status no_devices(const Runtime& runtime, const CommonArguments& arguments) {
  const size_t count = runtime.reports().size();
  if (count != 0)
    return failed_precondition(cat("no devices: ", count, " plugin candidate", count == 1 ? "" : "s",
                                   " found, none of use; `backplane plugins` says why"));
  std::vector<std::string> places;
  for (const SearchEntry& entry : search_path({arguments.plugin_paths, true, process_environment()}))
    places.push_back(entry.path);
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
