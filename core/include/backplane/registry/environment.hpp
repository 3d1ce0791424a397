// Environment: the environment variables that the loader heeds, as a value, so that tests and applications can supply
// their own.
//
// A process with raised privileges (AT_SECURE: setuid, setgid, file capabilities) must not be led by its caller's
// variables: get() then answers only for those that can do no harm. Thread safety: a value.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/registry/notice.hpp"

namespace backplane {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
  bool ignored_when_secure;
};

// Every variable that is heeded, in the order of the documentation. Docs, `doctor` and the privilege test are made from
// this table.
std::span<const EnvironmentVariable> environment_variables();

class Environment {
 public:
  // Knows no variable.
  Environment() = default;
  explicit Environment(std::map<std::string, std::string, std::less<>> variables, bool secure = false)
      : variables_(std::move(variables)), secure_(secure) {}
  // A copy of the process' own, and whether it runs with raised privileges.
  static Environment process();

  // The value, or nothing if it is not set or must be ignored.
  std::optional<std::string> get(std::string_view name) const;
  bool secure() const { return secure_; }
  // Where to keep what can be found out again: backplane below $XDG_CACHE_HOME or ~/.cache; empty if there is neither,
  // or the process has raised privileges.
  std::string cache_folder() const;

  // One notice that names the variables that are set and ignored ("env.ignored"), and one for each BACKPLANE_ variable
  // that does not exist ("env.unknown").
  std::vector<Notice> notices() const;

 private:
  std::map<std::string, std::string, std::less<>> variables_;
  bool secure_ = false;
};

}  // namespace backplane
