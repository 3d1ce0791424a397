#include "bundle.hpp"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "backplane/abi/abi.h"
#include "backplane/base/text.hpp"
#include "backplane/registry/cpu_features.hpp"
#include "backplane/registry/plugin_file.hpp"
#include "backplane/registry/search_path.hpp"
#include "device_text.hpp"
#include "places.hpp"
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
                       {"libc", Json::text(gnu_get_libc_version())},
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

Json libraries_json(const std::vector<LoadReport>& reports, const Environment& environment) {
  std::set<std::string> paths;
  for (const LoadReport& report : reports)
    if (!report.real_path.empty()) paths.insert(report.real_path);
  Json libraries = Json::array();
  for (const std::string& path : paths) libraries.push(library_json(path, environment));
  return libraries;
}

bool tells_of_a_secret(std::string_view key) {
  std::string letters = to_lower(key);
  std::erase_if(letters, [](char c) { return c == '_' || c == '-'; });
  for (const char* word : {"secret", "token", "passw", "passphrase", "credential", "apikey", "accesskey", "privatekey"})
    if (letters.find(word) != std::string::npos) return true;
  return false;
}

// Replaces the path where it stands whole: "/home/an" is no part of "/home/anna".
void replace_path(std::string& text, const std::string& path, std::string_view with) {
  constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+@%~";
  for (size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
    const size_t end = at + path.size();
    if (end < text.size() && kNameCharacters.find(text[end]) != std::string_view::npos) {
      at = end;
      continue;
    }
    text.replace(at, path.size(), with);
    at += with.size();
  }
}

// Takes the private out of documents: first what is secret is gathered, then it is replaced wherever it stands, such as
// in the message about a wrong option.
class Redactor {
 public:
  explicit Redactor(std::span<const std::string> homes) {
    for (std::string home : homes) {
      while (home.ends_with('/')) home.pop_back();
      if (!home.empty()) homes_.push_back(std::move(home));
    }
  }

  void gather(const Json& document) {
    if (document.is(Json::Kind::array))
      for (const Json& item : document.items()) gather(item);
    if (document.is(Json::Kind::object))
      for (const auto& [name, value] : document.members()) is_secret(document, name) ? keep(value) : gather(value);
    // A longer one may hold a shorter.
    std::sort(secrets_.begin(), secrets_.end(),
              [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  }

  Json redact(const Json& document) const {
    if (document.is(Json::Kind::text)) return Json::text(redact(document.as_text()));
    if (document.is(Json::Kind::array)) {
      Json array = Json::array();
      for (const Json& item : document.items()) array.push(redact(item));
      return array;
    }
    if (!document.is(Json::Kind::object)) return document;
    Json object = Json::object();
    for (const auto& [name, value] : document.members())
      object.set(name, is_secret(document, name) ? Json::text(kRedacted) : redact(value));
    return object;
  }

 private:
  static constexpr const char* kRedacted = "(redacted)";
  static constexpr size_t kShortestSecret = 4;  // anything shorter stands in other texts by chance

  // A value of the configuration has its key beside it.
  static bool is_secret(const Json& object, const std::string& name) {
    const Json* key = object.find("key");
    const bool entry = name == "value" && key && key->is(Json::Kind::text) && tells_of_a_secret(key->as_text());
    return entry || tells_of_a_secret(name);
  }
  void keep(const Json& value) {
    if (value.is(Json::Kind::text) && value.as_text().size() >= kShortestSecret) secrets_.push_back(value.as_text());
    if (value.is(Json::Kind::array))
      for (const Json& item : value.items()) keep(item);
    if (value.is(Json::Kind::object))
      for (const auto& [name, member] : value.members()) keep(member);
  }
  std::string redact(std::string text) const {
    for (const std::string& secret : secrets_)
      for (size_t at = 0; (at = text.find(secret, at)) != std::string::npos; at += std::strlen(kRedacted))
        text.replace(at, secret.size(), kRedacted);
    for (const std::string& home : homes_) replace_path(text, home, "~");
    return text;
  }

  std::vector<std::string> homes_, secrets_;
};

}  // namespace

Json redacted(const Json& document, std::span<const std::string> homes) {
  Redactor redactor(homes);
  redactor.gather(document);
  return redactor.redact(document);
}

Json full_report(const Runtime& runtime, const Arguments& arguments) {
  const Environment environment = Environment::process();
  const std::vector<LoadReport> reports = runtime.reports();
  return Json::object({{"system", system_json()},
                       {"environment", environment_json(environment)},
                       {"configuration", configuration_json(*runtime.configuration())},
                       {"places", to_json(places(arguments.common, *runtime.configuration()))},
                       {"candidates", to_json(reports)},
                       {"libraries", libraries_json(reports, environment)},
                       {"notices", to_json(runtime.notices())},
                       {"devices", to_json(runtime.devices())}});
}

Json make_bundle(const Runtime& runtime, const Arguments& arguments) {
  std::vector<std::string> homes;
  if (const auto home = Environment::process().get("HOME")) {
    std::error_code error;
    const auto real = std::filesystem::canonical(*home, error);
    homes.push_back(*home);
    if (!error) homes.push_back(real.string());
  }
  return redacted(full_report(runtime, arguments), homes);
}

}  // namespace backplane::cli
