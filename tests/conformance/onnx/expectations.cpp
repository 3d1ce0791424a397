#include "expectations.hpp"

#include <fstream>

#include "backplane/base/text.hpp"

namespace backplane::testing {

Result<Expectations> Expectations::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return invalid_argument(cat("cannot read ", path));
  Expectations expectations;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) return invalid_argument(cat(path, ":", number, ": wanted '<case>: <reason>'"));
    expectations.reasons_.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return expectations;
}

std::optional<std::string> Expectations::reason(const std::string& name) const {
  for (const auto& [pattern, reason] : reasons_)
    if (glob_match(pattern, name)) return reason;
  return std::nullopt;
}

}  // namespace backplane::testing
