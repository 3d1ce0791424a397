// What every verb needs: exit codes, errors of usage, the runtime.
// Thread safety: from the main thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "backplane/base/status.hpp"
#include "backplane/registry/notice.hpp"
#include "backplane/runtime/runtime.hpp"

namespace backplane::cli {

enum class ExitCode { ok = 0, problems = 1, usage = 2, missing = 3 };

// The arguments are not of the form that the verb's help shows.
Status usage_error(std::string message);

// not_found is `missing`; usage_error, and options that fit no part of the model, are `usage`; anything else is
// `problems`.
ExitCode exit_code(const Status& failure);

// Opens the runtime with the plugin paths and log levels asked for, and says in one line on stderr which of the paths
// failed and what is wrong with the configuration, unless the verb tells it anyway. Errors: usage_error for a bad
// --log; requested_failure for the verbs that use devices.
Result<std::unique_ptr<Runtime>> open_runtime(const Arguments& arguments);

// Says on stderr, in one line, what is wrong with the configuration and the environment.
void tell_of_errors(const std::vector<Notice>& notices);

// Something that was asked for by configuration or environment and is not there: a required plugin, a device of
// BACKPLANE_DEVICES. Errors: not_found.
Status requested_failure(const Runtime& runtime);

// Why there are no devices: which candidates were of no use, or the places where none was found.
Status no_devices(const Runtime& runtime, const CommonArguments& arguments);

// Cuts "name=text" at the first '='. Errors: usage_error naming the option.
struct NamedText {
  std::string name, text;
};
Result<NamedText> split_named(const std::string& argument, std::string_view option);

}  // namespace backplane::cli
