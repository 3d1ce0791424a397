// Configuration: what the user and the administrator decide, from drop-in files (file format 1.0,
// manifests/config.schema.json; rules in docs/spec/configuration.md).
//
// Files named *.json in the folders of config_folders() are read from the lowest folder to the highest: a file of the
// same name in a higher folder replaces the lower one, a link to /dev/null masks it, and those that are left are
// applied in the bytewise order of their names, BACKPLANE_CONFIG last. A later scalar wins, arrays append, null resets.
// A file that is broken is an error notice and none of it is applied; an unknown key is a warning, the rest applies.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/registry/environment.hpp"
#include "backplane/registry/notice.hpp"

namespace backplane {

enum class TrustPolicy { normal, strict };       // writable by others: warn; refuse
enum class ProbePolicy { off, cached, always };  // trying plugins in a child process

struct PluginConfiguration {
  std::optional<bool> enabled;    // false = not loaded
  std::optional<bool> required;   // true = an error notice if it is not active
  int64_t priority = 0;           // of its devices among those of one type; larger first; -1000 to 1000
  std::string sha256;             // its library must have this content; empty = any
  Json options = Json::object();  // over the manifest's defaults; null = back to the default
};

// One value in force, and where it comes from.
struct ConfigurationEntry {
  std::string key;  // "plugins.org.example.gpu.enabled", "devices.order[0]", "trust"
  Json value;
  std::string file;               // or "env:BACKPLANE_PROBE"
  uint32_t line = 0, column = 0;  // 1-based; 0 = not in a file
};

struct ConfigurationFile {
  enum class State { used, replaced, masked, broken };  // masked = it leads to /dev/null
  std::string path;
  State state = State::used;
  std::string by;  // of replaced, the file that does
};

struct Configuration {
  std::map<std::string, PluginConfiguration, std::less<>> plugins;  // by plugin id
  std::vector<std::string> device_order, device_hide;               // names or selectors
  std::vector<std::string> plugin_folders;                          // "plugin_dirs", absolute
  TrustPolicy trust = TrustPolicy::normal;
  ProbePolicy probe = ProbePolicy::cached;
  uint32_t probe_timeout_ms = 10000;

  std::vector<ConfigurationEntry> entries;  // every value in force that somebody gave, object by object, keys in order
  std::vector<ConfigurationFile> files;     // every file looked at, lowest first
  std::vector<Notice> notices;              // codes "config.*"

  // The plugin's own, or all defaults.
  const PluginConfiguration& plugin(std::string_view id) const;
  // The entry of that key, or null.
  const ConfigurationEntry* find(std::string_view key) const;
};

// The folders, lowest first: /usr/share, /etc and $XDG_CONFIG_HOME, each with backplane/conf.d below.
std::vector<std::string> configuration_folders(const Environment& environment);

// Reads the folders and $BACKPLANE_CONFIG. BACKPLANE_PROBE has the last word on `probe`; a word that is none of its
// values is an error notice ("env.value"). BACKPLANE_SAFE_MODE=1: reads nothing. Never fails: see notices.
Configuration load_configuration(const Environment& environment);
Configuration load_configuration(const Environment& environment, const std::vector<std::string>& folders);

}  // namespace backplane
