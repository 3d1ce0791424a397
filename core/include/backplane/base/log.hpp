// Logger: where the core's log lines go. A level and a topic each; sinks are the application's.
//
// The library never prints: without sinks nothing comes out. There is no global logger: one is made by the
// application and passed down. Thread safety: every function from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backplane/base/status.hpp"

namespace backplane {

enum class LogLevel { trace, debug, info, warn, error, off };

// Receives one line, without newline. Called with no lock of the runtime's held, from any thread.
using LogSink = std::function<void(LogLevel level, std::string_view topic, std::string_view text)>;

class Logger {
 public:
  // A logger that drops everything below `level`; a null sink drops everything.
  explicit Logger(LogSink sink = {}, LogLevel level = LogLevel::warn);
  ~Logger();
  Logger(const Logger&) = delete;
  Logger& operator=(const Logger&) = delete;

  // Sets levels from "info,registry=trace": a default level and levels of topics. Errors: invalid_argument, and
  // nothing has changed.
  Status configure(std::string_view spec);
  bool enabled(LogLevel level, std::string_view topic) const;
  void write(LogLevel level, std::string_view topic, std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Errors: invalid_argument, listing the level names.
Result<LogLevel> parse_log_level(std::string_view name);

}  // namespace backplane
