// backplane config show, check, variables
#include <algorithm>
#include <cstdio>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/registry/configuration.hpp"
#include "bundle.hpp"
#include "report_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace backplane::cli {
namespace {

std::string_view state_name(ConfigurationFile::State state) {
  constexpr std::string_view kNames[] = {"used", "replaced", "masked", "broken"};
  return kNames[static_cast<size_t>(state)];
}

std::string origin(const ConfigurationEntry& entry) {
  return entry.line == 0 ? entry.file : cat(entry.file, ":", entry.line, ":", entry.column);
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

void print_files(const Configuration& configuration) {
  if (configuration.files.empty()) {
    std::puts("no configuration files; they would be *.json in:");
    for (const std::string& folder : configuration_folders(Environment::process()))
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
  Json files = Json::array(), entries = Json::array(), notices = Json::array();
  for (const ConfigurationFile& file : configuration.files)
    files.push(Json::object({{"path", Json::text(file.path)},
                             {"state", Json::text(std::string(state_name(file.state)))},
                             {"by", Json::text(file.by)}}));
  for (const ConfigurationEntry& entry : configuration.entries) entries.push(to_json(entry));
  for (const Notice& notice : configuration.notices) notices.push(to_json(notice));
  return Json::object({{"files", std::move(files)}, {"values", std::move(entries)}, {"notices", std::move(notices)}});
}

Result<ExitCode> show_config(const Arguments& arguments) {
  const Configuration configuration = load_configuration(Environment::process());
  if (arguments.common.json) {
    std::puts(configuration_json(configuration).dump().c_str());
  } else {
    if (configuration.entries.empty()) std::puts("all defaults: no configuration file gives a value");
    Table table(arguments.config.origin ? std::vector<std::string>{"KEY", "VALUE", "ORIGIN"}
                                        : std::vector<std::string>{"KEY", "VALUE"});
    for (const ConfigurationEntry& entry : configuration.entries) {
      std::vector<std::string> row = {entry.key, entry.value.dump(-1)};
      if (arguments.config.origin) row.push_back(origin(entry));
      table.add(std::move(row));
    }
    if (!configuration.entries.empty()) table.print();
    for (const Notice& notice : configuration.notices) std::fprintf(stderr, "backplane: %s\n", to_text(notice).c_str());
  }
  return has_errors(configuration) ? ExitCode::problems : ExitCode::ok;
}

Result<ExitCode> check_config(const Arguments& arguments) {
  const Environment environment = Environment::process();
  Configuration configuration = load_configuration(environment);
  for (Notice& notice : environment.notices()) configuration.notices.push_back(std::move(notice));
  if (arguments.common.json) {
    std::puts(configuration_json(configuration).dump().c_str());
  } else {
    print_files(configuration);
    for (const Notice& notice : configuration.notices) std::puts(to_text(notice).c_str());
    if (configuration.notices.empty()) std::puts("nothing is wrong");
  }
  return has_errors(configuration) ? ExitCode::problems : ExitCode::ok;
}

Result<ExitCode> list_variables(const Arguments& arguments) {
  const Environment environment = Environment::process();
  Table table({"VARIABLE", "VALUE", "MEANING"});
  Json list = Json::array();
  for (const EnvironmentVariable& variable : environment_variables()) {
    const std::optional<std::string> value = environment.get(variable.name);
    table.add({std::string(variable.name), value.value_or("-"), std::string(variable.meaning)});
    list.push(Json::object({{"name", Json::text(std::string(variable.name))},
                            {"value", value ? Json::text(*value) : Json()},
                            {"meaning", Json::text(std::string(variable.meaning))},
                            {"ignored_when_secure", Json::boolean(variable.ignored_when_secure)}}));
  }
  if (arguments.common.json)
    std::puts(list.dump().c_str());
  else
    table.print();
  return ExitCode::ok;
}

}  // namespace backplane::cli
