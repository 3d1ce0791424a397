// Expectations: which cases of the suite are not supported, and which property of the design is why.
// Thread safety: const after reading.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "backplane/base/status.hpp"

namespace backplane::testing {

class Expectations {
 public:
  // Reads lines "<case or pattern with *>: <reason>"; # begins a comment. Errors: invalid_argument naming the line.
  static Result<Expectations> read(const std::string& path);
  // Why a case is not expected to pass, or none.
  std::optional<std::string> reason(const std::string& name) const;

 private:
  std::map<std::string, std::string> reasons_;  // by pattern
};

}  // namespace backplane::testing
