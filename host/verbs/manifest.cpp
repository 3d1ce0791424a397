// backplane manifest new, check, schema
#include <algorithm>
#include <cstdio>

#include "backplane/base/text.hpp"
#include "backplane/registry/plugin_file.hpp"
#include "json_output.hpp"
#include "report_text.hpp"
#include "schemas.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

bool has_errors(const PluginFileCheck& check) {
  return std::any_of(check.notices.begin(), check.notices.end(),
                     [](const Notice& notice) { return notice.severity == Severity::error; });
}

void print_check(const std::string& file, const PluginFileCheck& check) {
  const std::string about = check.plugin_id.empty() ? file : cat(file, " (", check.plugin_id, ")");
  std::printf("%s: %s\n", printable(about).c_str(), has_errors(check) ? "would not load here" : "ok");
  for (const Notice& notice : check.notices) std::printf("  %s\n", to_text(notice).c_str());
}

Json to_json(const std::string& file, const PluginFileCheck& check) {
  return Json::object({{"file", Json::text(file)},
                       {"plugin", Json::text(check.plugin_id)},
                       {"library", Json::text(check.library_path)},
                       {"ok", Json::boolean(!has_errors(check))},
                       {"notices", cli::to_json(check.notices)}});
}

// The file itself, not its library.
bool is_missing(const PluginFileCheck& check) {
  return check.plugin_id.empty() && check.notices.size() == 1 && check.notices[0].code == "file.missing";
}

// Which file, if the message does not tell.
Status about(const std::string& file, const Status& status) {
  return status.message().find(file) == std::string::npos ? status.with_context(file) : status;
}

}  // namespace

Result<ExitCode> make_manifest(const Arguments& arguments) {
  const ManifestArguments& own = arguments.manifest;
  const Result<std::string> text = new_manifest(own.library, own.id, own.pin);
  if (!text && !own.id.empty() && text.status().id().starts_with("manifest."))
    return usage_error(cat("--id: ", text.status().message()));
  if (!text) return about(own.library, text.status());
  std::fputs(terminal_json(*text).c_str(), stdout);
  return ExitCode::ok;
}

Result<ExitCode> check_manifests(const Arguments& arguments) {
  bool problems = false, missing = false;
  Json list = Json::array();
  for (const std::string& file : arguments.manifest.files) {
    const PluginFileCheck check = check_plugin_file(file, Environment::process());
    (is_missing(check) ? missing : problems) |= has_errors(check);
    list.push(to_json(file, check));
    if (!arguments.common.json) print_check(file, check);
  }
  if (arguments.common.json) print_json(list);
  return problems ? ExitCode::problems : missing ? ExitCode::missing : ExitCode::ok;
}

Result<ExitCode> print_schema(const Arguments& arguments) {
  const std::string_view schema = arguments.manifest.schema == "config" ? config_schema() : plugin_schema();
  std::fwrite(schema.data(), 1, schema.size(), stdout);
  return ExitCode::ok;
}

}  // namespace backplane::cli
