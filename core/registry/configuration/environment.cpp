#include "backplane/registry/environment.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr std::string_view kPrefix = "BACKPLANE_";

constexpr EnvironmentVariable kVariables[] = {
    {"BACKPLANE_PLUGIN_PATH",
     "Folders and files to look for plugins in, separated by colons. Replaces every other place but those that the "
     "application names; set and empty, there are no other places.",
     true},
    {"BACKPLANE_ADD_PLUGIN_PATH",
     "Folders and files to look for plugins in before the usual places, separated by colons.", true},
    {"BACKPLANE_PLUGINS_SELECT",
     "Only plugins whose id or file name matches one of these globs, separated by commas, are loaded.", true},
    {"BACKPLANE_PLUGINS_DISABLE",
     "Plugins whose id or file name matches one of these globs, separated by commas, are not loaded. Beats "
     "BACKPLANE_PLUGINS_SELECT.",
     true},
    {"BACKPLANE_DEVICES", "Only these devices, in this order: names or selectors, separated by commas.", true},
    {"BACKPLANE_CONFIG", "One more configuration file, which has the last word.", true},
    {"BACKPLANE_PROBE",
     "Whether a plugin is tried in a child process before it is loaded: off, cached (once for each content) or always.",
     true},
    {"BACKPLANE_SAFE_MODE",
     "1 = no configuration files, and only plugins beside the core library or named by the application.", false},
    {"BACKPLANE_LOG", "Log lines of the `backplane` program on stderr: LEVEL[,TOPIC=LEVEL].", false},
    {"XDG_CONFIG_HOME", "The user's own configuration and plugins, in backplane/ below it; ~/.config by default.",
     true},
    {"XDG_DATA_HOME", "The user's own plugins, in backplane/plugins.d below it; ~/.local/share by default.", true},
    {"XDG_DATA_DIRS",
     "The system's plugins, in backplane/plugins.d below each; /usr/local/share:/usr/share by default.", true},
    {"XDG_CACHE_HOME", "Verdicts of probes and measured costs of devices, in backplane below it; ~/.cache by default.",
     true},
    {"HOME", "Where the XDG folders are if they are not set.", true},
    {"LD_LIBRARY_PATH", "Where the system's loader, and so the diagnosis of a failed load, looks for libraries.", true},
};

const EnvironmentVariable* find_variable(std::string_view name) {
  const auto found = std::find_if(std::begin(kVariables), std::end(kVariables),
                                  [&](const EnvironmentVariable& variable) { return variable.name == name; });
  return found == std::end(kVariables) ? nullptr : found;
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

Environment Environment::process() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment(std::move(variables), getauxval(AT_SECURE) != 0);
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  if (secure_) {
    const EnvironmentVariable* variable = find_variable(name);
    if (!variable || variable->ignored_when_secure) return std::nullopt;
  }
  return found->second;
}

std::string Environment::cache_folder() const {
  if (secure_) return {};
  const std::string cache = get("XDG_CACHE_HOME").value_or("");
  if (cache.starts_with('/')) return cat(cache, "/backplane");
  const std::string home = get("HOME").value_or("");
  return home.starts_with('/') ? cat(home, "/.cache/backplane") : "";
}

std::vector<Notice> Environment::notices() const {
  std::vector<Notice> notices;
  std::vector<std::string> names, ignored;
  for (const EnvironmentVariable& variable : kVariables) {
    names.emplace_back(variable.name);
    const bool ours = variable.name.starts_with(kPrefix);
    if (secure_ && ours && variable.ignored_when_secure && variables_.contains(variable.name))
      ignored.emplace_back(variable.name);
  }
  if (!ignored.empty())
    notices.push_back({Severity::warning, "env.ignored",
                       cat("this process runs with raised privileges, so it ignores ", join(ignored, ", ")),
                       "run it without raised privileges, or configure it in /etc/backplane/conf.d", "", 0, 0});
  const std::string safe_mode = get("BACKPLANE_SAFE_MODE").value_or("");
  if (!safe_mode.empty() && safe_mode != "0" && safe_mode != "1")
    notices.push_back({Severity::error, "env.value",
                       cat("BACKPLANE_SAFE_MODE is '", safe_mode, "'; wanted 1 or 0, so it is off"), "", "", 0, 0});
  for (const auto& [name, value] : variables_)
    if (name.starts_with(kPrefix) && !find_variable(name))
      notices.push_back({Severity::warning, "env.unknown",
                         cat("the environment variable ", name, " means nothing", did_you_mean(name, names)), "", "", 0,
                         0});
  return notices;
}

}  // namespace backplane
