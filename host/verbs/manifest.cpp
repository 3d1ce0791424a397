// backplane manifest new, check, schema
#include <algorithm>
#include <cstdio>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/registry/plugin_file.hpp"
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
  std::printf("%s: %s\n", printable(about).c_str(), has_errors(check) ? "not fit to load here" : "ok");
  for (const Notice& notice : check.notices) std::printf("  %s\n", to_text(notice).c_str());
}

Json to_json(const std::string& file, const PluginFileCheck& check) {
  Json notices = Json::array();
  for (const Notice& notice : check.notices) notices.push(cli::to_json(notice));
  return Json::object({{"file", Json::text(file)},
                       {"plugin", Json::text(check.plugin_id)},
                       {"library", Json::text(check.library_path)},
                       {"ok", Json::boolean(!has_errors(check))},
                       {"notices", std::move(notices)}});
}

}  // namespace

Result<ExitCode> make_manifest(const Arguments& arguments) {
  const ManifestArguments& own = arguments.manifest;
  BP_TRY_ASSIGN(const std::string text, new_manifest(own.library, own.id, own.pin));
  std::fputs(text.c_str(), stdout);
  return ExitCode::ok;
}

Result<ExitCode> check_manifests(const Arguments& arguments) {
  bool errors = false;
  Json list = Json::array();
  for (const std::string& file : arguments.manifest.files) {
    const PluginFileCheck check = check_plugin_file(file, Environment::process());
    errors |= has_errors(check);
    list.push(to_json(file, check));
    if (!arguments.common.json) print_check(file, check);
  }
  if (arguments.common.json) std::puts(list.dump().c_str());
  return errors ? ExitCode::problems : ExitCode::ok;
}

Result<ExitCode> print_schema(const Arguments& arguments) {
  const std::string_view schema = arguments.manifest.schema == "config" ? config_schema() : plugin_schema();
  std::fwrite(schema.data(), 1, schema.size(), stdout);
  return ExitCode::ok;
}

}  // namespace backplane::cli
