#include "backplane/registry/environment.hpp"

#include <cstdlib>

namespace backplane {

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = secure_getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

}  // namespace backplane
