// What can be told of a plugin's files without running any code of them: for the authors of plugins, and for reports.
// Thread safety: pure functions of the files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/registry/environment.hpp"
#include "backplane/registry/notice.hpp"

namespace backplane {

struct LibraryFacts {
  std::string real_path, sha256;
  uint64_t bytes = 0;
  std::string soname, build_id;                     // empty = none
  std::vector<std::string> needed, rpath, runpath;  // as written
  std::vector<std::string> dependencies;            // real paths of all that it needs and that is found, sorted
  std::vector<std::string> missing;                 // one line each: what, wanted by whom, why it is not found
  std::string manifest;                             // embedded; empty = none
};

// Errors: as opening the file, and the "elf.*" of a file that is no library for this machine.
Result<LibraryFacts> inspect_library(const std::string& path, const Environment& environment);

struct PluginFileCheck {
  std::string plugin_id;        // empty if it cannot be told
  std::string library_path;     // real; empty if it cannot be told
  std::vector<Notice> notices;  // errors = it would not load here; warnings = bad habits
};

// Checks a manifest, strictly, and the library that it names; or a library and the manifest embedded in it.
PluginFileCheck check_plugin_file(const std::string& path, const Environment& environment);

// The text of a manifest for the library, which goes beside it. An empty `id` is taken from the embedded manifest, else
// made of the file's name. `pin` adds the library's SHA-256. Errors: as inspect_library; invalid_argument "manifest.*"
// for a bad id.
Result<std::string> new_manifest(const std::string& library, const std::string& id, bool pin);

}  // namespace backplane
