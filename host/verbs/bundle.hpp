// All that is to be said about plugins as one JSON document, and the same without what is private, for a bug report.
// Thread safety: from the main thread.
#pragma once

#include <span>
#include <string>

#include "arguments.hpp"
#include "backplane/base/json.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/runtime/runtime.hpp"

namespace backplane::cli {

// System, environment, configuration, places, candidates, libraries, notices and devices.
Json full_report(const Runtime& runtime, const Arguments& arguments);

// The full report, redacted for this process' home folder.
Json make_bundle(const Runtime& runtime, const Arguments& arguments);

// The document with each of the folders `homes` as "~" in every text, and "(redacted)" for the values of keys that tell
// of secrets, wherever such a value stands. The names of things, such as devices and plugins, stay.
Json redacted(const Json& document, std::span<const std::string> homes);

// Files, values and notices; as `config show --json` prints it.
Json configuration_json(const Configuration& configuration);

}  // namespace backplane::cli
