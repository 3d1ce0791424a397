#include "backplane/registry/notice.hpp"

namespace backplane {

std::string_view severity_name(Severity severity) {
  constexpr std::string_view kNames[] = {"info", "warning", "error"};
  return kNames[static_cast<size_t>(severity)];
}

}  // namespace backplane
