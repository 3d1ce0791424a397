// The search path: the places where plugins are looked for, in order. Never the working directory.
#pragma once

#include <string>
#include <vector>

#include "backplane/registry/environment.hpp"

namespace backplane {

struct SearchEntry {
  std::string source;      // what named the place: "api", "env:BACKPLANE_PLUGIN_PATH", "beside-core", ...
  std::string path;        // a folder, or a file if requested
  bool requested = false;  // somebody asked for just this place, so that it should exist
};

struct SearchOptions {
  std::vector<std::string> api_paths;
  bool search_system = true;  // false = api_paths only
  Environment environment;
  std::vector<std::string> configured;  // the configuration's plugin_dirs
};

// In order: the API's paths; BACKPLANE_PLUGIN_PATH, which replaces all that follows; BACKPLANE_ADD_PLUGIN_PATH; the
// configuration's folders; backplane/plugins.d in $XDG_CONFIG_HOME, in $XDG_DATA_HOME, beside the core library, in
// /etc, in $XDG_DATA_DIRS and in the installation's library folder. With BACKPLANE_SAFE_MODE=1 only the API's paths and
// the folder beside the core library.
std::vector<SearchEntry> search_path(const SearchOptions& options);

// Whether BACKPLANE_SAFE_MODE is on: "1"; unset, empty and "0" are off, and so is what is neither.
bool safe_mode(const Environment& environment);

// The real path of the core library, from its link map; of the program if the core is linked into it. Empty if the
// system does not tell.
std::string core_library_path();

}  // namespace backplane
