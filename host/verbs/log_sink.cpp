#include "log_sink.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

LogSink stderr_sink() {
  auto logger = std::make_shared<spdlog::logger>("backplane", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_level(spdlog::level::trace);  // the core's Logger has filtered already
  logger->set_pattern("%^%l%$ %v");
  return [logger](LogLevel level, std::string_view topic, std::string_view text) {
    logger->log(spdlog_level(level), "{}: {}", printable(topic), printable(text));  // of a plugin, perhaps
  };
}

}  // namespace backplane::cli
