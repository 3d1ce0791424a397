// backplane config show, check, variables
#include <algorithm>
#include <cstdio>
#include <optional>

#include "backplane/base/text.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/registry/search_path.hpp"
#include "bundle.hpp"
#include "json_output.hpp"
#include "report_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

constexpr size_t kMeaningColumns = 92;

std::string_view state_name(ConfigurationFile::State state) {
  constexpr std::string_view kNames[] = {"used", "replaced", "masked", "broken"};
  return kNames[static_cast<size_t>(state)];
}

Json to_json(const ConfigurationEntry& entry) {
  return Json::object({{"key", Json::text(entry.key)},
                       {"value", entry.value},
                       {"file", Json::text(entry.file)},
                       {"line", Json::integer(entry.line)},
                       {"column", Json::integer(entry.column)}});
}

bool has_errors(const Configuration& configuration) {
  return std::any_of(configuration.notices.begin(), configuration.notices.end(),
                     [](const Notice& notice) { return notice.severity == Severity::error; });
}

void print_files(const Configuration& configuration, const Environment& environment) {
  if (safe_mode(environment)) {
    std::puts("BACKPLANE_SAFE_MODE is on: no configuration file is read");
    return;
  }
  if (configuration.files.empty()) {
    std::puts("no configuration files; they would be *.json in:");
    for (const std::string& folder : configuration_folders(environment))
      std::printf("  %s\n", printable(folder).c_str());
    return;
  }
  Table table({"STATE", "FILE"});
  for (const ConfigurationFile& file : configuration.files)
    table.add(
        {std::string(state_name(file.state)), file.by.empty() ? file.path : cat(file.path, " (by ", file.by, ")")});
  table.print();
}

}  // namespace

Json configuration_json(const Configuration& configuration) {
  Json files = Json::array(), entries = Json::array();
  for (const ConfigurationFile& file : configuration.files)
    files.push(Json::object({{"path", Json::text(file.path)},
                             {"state", Json::text(std::string(state_name(file.state)))},
                             {"by", Json::text(file.by)}}));
  for (const ConfigurationEntry& entry : configuration.entries) entries.push(to_json(entry));
  return Json::object(
      {{"files", std::move(files)}, {"values", std::move(entries)}, {"notices", to_json(configuration.notices)}});
}

Result<ExitCode> show_config(const Arguments& arguments) {
  const Configuration configuration = load_configuration(Environment::process());
  if (arguments.common.json) {
    print_json(configuration_json(configuration));
  } else {
    if (configuration.entries.empty()) std::puts("all defaults: no configuration file gives a value");
    Table table(arguments.config.origin ? std::vector<std::string>{"KEY", "VALUE", "ORIGIN"}
                                        : std::vector<std::string>{"KEY", "VALUE"});
    for (const ConfigurationEntry& entry : configuration.entries) {
      std::vector<std::string> row = {entry.key, entry.value.dump(-1)};
      if (arguments.config.origin) row.push_back(origin_text(entry));
      table.add(std::move(row));
    }
    if (!configuration.entries.empty()) table.print();
    tell_of_errors(configuration.notices);
  }
  return has_errors(configuration) ? ExitCode::problems : ExitCode::ok;
}

Result<ExitCode> check_config(const Arguments& arguments) {
  const Environment environment = Environment::process();
  Configuration configuration = load_configuration(environment);
  for (Notice& notice : environment.notices()) configuration.notices.push_back(std::move(notice));
  if (arguments.common.json) {
    print_json(configuration_json(configuration));
  } else {
    print_files(configuration, environment);
    for (const Notice& notice : configuration.notices) std::puts(to_text(notice).c_str());
    if (configuration.notices.empty()) std::puts("nothing is wrong");
  }
  return has_errors(configuration) ? ExitCode::problems : ExitCode::ok;
}

Result<ExitCode> list_variables(const Arguments& arguments) {
  const Environment environment = Environment::process();
  Json list = Json::array();
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::string name(variable.name);
    const std::optional<std::string> value = environment.get(name);
    list.push(Json::object({{"name", Json::text(name)},
                            {"value", value ? Json::text(*value) : Json()},
                            {"meaning", Json::text(std::string(variable.meaning))},
                            {"ignored_when_secure", Json::boolean(variable.ignored_when_secure)}}));
    if (arguments.common.json) continue;
    std::puts(printable(value ? cat(name, "=", *value) : cat(name, " is not set")).c_str());
    std::fputs(wrapped(variable.meaning, kMeaningColumns, "    ").c_str(), stdout);
  }
  if (arguments.common.json) print_json(list);
  return ExitCode::ok;
}

}  // namespace backplane::cli
