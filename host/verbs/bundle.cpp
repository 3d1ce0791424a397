#include "bundle.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <set>

#include "backplane/abi/abi.h"
#include "backplane/base/text.hpp"
#include "backplane/registry/cpu_features.hpp"
#include "backplane/registry/plugin_file.hpp"
#include "backplane/registry/search_path.hpp"
#include "common.hpp"
#include "report_text.hpp"

namespace backplane::cli {
namespace {

Json texts(const std::vector<std::string>& list) {
  Json array = Json::array();
  for (const std::string& text : list) array.push(Json::text(text));
  return array;
}

Json system_json() {
  utsname names = {};
  uname(&names);
  const std::set<std::string, std::less<>> features = CpuFeatures::detect().names();
  return Json::object({{"backplane", Json::text(BACKPLANE_VERSION)},
                       {"abi", Json::text(cat(BP_ABI_VERSION >> 16, ".", BP_ABI_VERSION & 0xffff))},
                       {"core", Json::text(core_library_path())},
                       {"kernel", Json::text(cat(names.sysname, " ", names.release, " ", names.machine))},
                       {"cpu_features", texts({features.begin(), features.end()})}});
}

Json environment_json(const Environment& environment) {
  Json variables = Json::object();
  for (const EnvironmentVariable& variable : environment_variables())
    if (const std::optional<std::string> value = environment.get(variable.name))
      variables.set(std::string(variable.name), Json::text(*value));
  return Json::object(
      {{"raised_privileges", Json::boolean(environment.secure())}, {"variables", std::move(variables)}});
}

Json places_json(const Runtime& runtime, const Arguments& arguments, const Environment& environment) {
  Json places = Json::array();
  for (const SearchEntry& entry :
       search_path({arguments.common.plugin_paths, true, environment, runtime.configuration()->plugin_folders}))
    places.push(Json::object({{"source", Json::text(entry.source)},
                              {"path", Json::text(entry.path)},
                              {"state", Json::text(place_state(entry.path))}}));
  return places;
}

Json library_json(const std::string& path, const Environment& environment) {
  const Result<LibraryFacts> facts = inspect_library(path, environment);
  if (!facts)
    return Json::object({{"path", Json::text(path)},
                         {"code", Json::text(facts.status().id())},
                         {"message", Json::text(facts.status().message())}});
  return Json::object({{"path", Json::text(facts->real_path)},
                       {"bytes", Json::integer(static_cast<int64_t>(facts->bytes))},
                       {"sha256", Json::text(facts->sha256)},
                       {"soname", Json::text(facts->soname)},
                       {"build_id", Json::text(facts->build_id)},
                       {"needed", texts(facts->needed)},
                       {"rpath", texts(facts->rpath)},
                       {"runpath", texts(facts->runpath)},
                       {"dependencies", texts(facts->dependencies)},
                       {"missing", texts(facts->missing)},
                       {"manifest", Json::text(facts->manifest)}});
}

bool tells_of_a_secret(std::string_view key) {
  const std::string lower = to_lower(key);
  for (const char* word : {"secret", "token", "password", "passwd", "credential", "api_key", "apikey"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

Json redacted(const Json& document, const std::string& home) {
  switch (document.kind()) {
    case Json::Kind::text: {
      std::string text = document.as_text();
      if (home.size() > 1)
        for (size_t at; (at = text.find(home)) != std::string::npos;) text.replace(at, home.size(), "~");
      return Json::text(std::move(text));
    }
    case Json::Kind::array: {
      Json array = Json::array();
      for (const Json& item : document.items()) array.push(redacted(item, home));
      return array;
    }
    case Json::Kind::object: {
      Json object = Json::object();
      // A value of the configuration has its key beside it.
      const Json* key = document.find("key");
      const bool entry = key && key->is(Json::Kind::text) && tells_of_a_secret(key->as_text());
      for (const auto& [name, value] : document.members())
        object.set(name, tells_of_a_secret(name) || (entry && name == "value") ? Json::text("(redacted)")
                                                                               : redacted(value, home));
      return object;
    }
    default:
      return document;
  }
}

Json make_bundle(const Runtime& runtime, const Arguments& arguments) {
  const Environment environment = Environment::process();
  Json candidates = Json::array(), libraries = Json::array(), notices = Json::array(), devices = Json::array();
  std::set<std::string> paths;
  for (const LoadReport& report : runtime.reports()) {
    candidates.push(to_json(report));
    if (!report.real_path.empty()) paths.insert(report.real_path);
  }
  for (const std::string& path : paths) libraries.push(library_json(path, environment));
  for (const Notice& notice : runtime.notices()) notices.push(to_json(notice));
  for (const Device* device : runtime.devices())
    devices.push(Json::object({{"name", Json::text(device->name())},
                               {"identity", Json::text(device->identity())},
                               {"selector", Json::text(device->selector())},
                               {"alias_of", Json::text(device->alias_of())},
                               {"description", Json::text(device->description())}}));
  const Json bundle = Json::object({{"system", system_json()},
                                    {"environment", environment_json(environment)},
                                    {"configuration", configuration_json(*runtime.configuration())},
                                    {"places", places_json(runtime, arguments, environment)},
                                    {"candidates", std::move(candidates)},
                                    {"libraries", std::move(libraries)},
                                    {"notices", std::move(notices)},
                                    {"devices", std::move(devices)}});
  return redacted(bundle, environment.get("HOME").value_or(""));
}

}  // namespace backplane::cli
