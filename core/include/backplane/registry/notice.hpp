// Notice: what the loader has to say that is about no single candidate: a broken configuration file, a variable that
// nobody knows or that a privileged process ignores, a pattern that matches nothing.
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace backplane {

// error = something that was asked for is not there or not in force; warning = probably a slip; info = worth knowing.
enum class Severity { info, warning, error };

std::string_view severity_name(Severity severity);

struct Notice {
  Severity severity = Severity::info;
  std::string code;     // stable, such as "config.syntax" or "env.unknown"
  std::string message;  // one line: wanted, found, where
  std::string hint;     // what to do about it; may be empty
  std::string file;     // where it is; empty if nowhere
  uint32_t line = 0;    // 1-based; 0 = none
  uint32_t column = 0;  // 1-based, in bytes; 0 = none
};

}  // namespace backplane
