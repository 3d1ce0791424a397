// Environment: how the registry reads environment variables, so that tests and applications can supply their own.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace backplane {

// Returns the value of a variable, or nothing if it is not set. Callable from any thread.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Reads the process' own environment. A process with raised privileges sees no variables: they are its caller's.
Environment process_environment();

}  // namespace backplane
