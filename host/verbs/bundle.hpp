// The bundle of `doctor --bundle`: everything that a bug report about plugins needs, as one JSON document.
//
// The home folder and the user's name are replaced, and so are the values of options that look like secrets.
// Thread safety: from the main thread.
#pragma once

#include "arguments.hpp"
#include "backplane/base/json.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/runtime/runtime.hpp"

namespace backplane::cli {

Json make_bundle(const Runtime& runtime, const Arguments& arguments);

// The document with `home` as "~" in every string, and the values of keys that tell of secrets as "(redacted)".
Json redacted(const Json& document, const std::string& home);

// Files, values and notices; as `config show --json` prints it.
Json configuration_json(const Configuration& configuration);

}  // namespace backplane::cli
