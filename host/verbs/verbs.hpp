// The verbs of the program, one source file each. Each prints to stdout and returns how it went; what it could not
// do at all is a failure, which main prints.
// Thread safety: from the main thread.
#pragma once

#include "arguments.hpp"
#include "backplane/base/status.hpp"
#include "common.hpp"

namespace backplane::cli {

Result<ExitCode> list_devices(const Arguments& arguments);
Result<ExitCode> watch_devices(const Arguments& arguments);
Result<ExitCode> list_plugins(const Arguments& arguments);
Result<ExitCode> examine(const Arguments& arguments);
Result<ExitCode> show_config(const Arguments& arguments);
Result<ExitCode> check_config(const Arguments& arguments);
Result<ExitCode> list_variables(const Arguments& arguments);
Result<ExitCode> make_manifest(const Arguments& arguments);
Result<ExitCode> check_manifests(const Arguments& arguments);
Result<ExitCode> print_schema(const Arguments& arguments);
Result<ExitCode> show_plan(const Arguments& arguments);
Result<ExitCode> run_model(const Arguments& arguments);

}  // namespace backplane::cli
