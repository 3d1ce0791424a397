// LoadFailure: why the system's loader refused a library, told better than by its own text.
#pragma once

#include <string>

#include "backplane/base/status.hpp"
#include "dependency_walk.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {

struct LoadFailure {
  Status status;     // "dlopen.missing-library", "dlopen.undefined-symbol", "dlopen.symbol-version", else the given one
  std::string hint;  // what to do: the manifest's hint for the library, a package, RUNPATH advice
};

// `failure` is Library::load's "dlopen.failed", which holds the system's text; it is kept in the message. A missing
// library is named with the chain that leads to it.
LoadFailure explain_load_failure(const Status& failure, const std::string& library_path, const Manifest& manifest,
                                 DependencyWalk& walk);

}  // namespace backplane
