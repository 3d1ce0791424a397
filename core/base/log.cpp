#include "backplane/base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr std::array<const char*, 6> kLevelNames = {"trace", "debug", "info", "warn", "error", "off"};
constexpr std::array<spdlog::level::level_enum, 6> kSpdlogLevels = {spdlog::level::trace, spdlog::level::debug,
                                                                    spdlog::level::info,  spdlog::level::warn,
                                                                    spdlog::level::err,   spdlog::level::off};

LogLevel from_spdlog(spdlog::level::level_enum level) {
  for (size_t i = 0; i < kSpdlogLevels.size(); ++i)
    if (kSpdlogLevels[i] == level) return static_cast<LogLevel>(i);
  return LogLevel::error;
}

std::string_view view(spdlog::string_view_t text) { return {text.data(), text.size()}; }

// Hands lines to the application. Without a mutex, unlike spdlog's own sinks: the callback may take its time or log.
class CallbackSink final : public spdlog::sinks::sink {
 public:
  explicit CallbackSink(LogSink callback) : callback_(std::move(callback)) {}
  void log(const spdlog::details::log_msg& line) override {
    callback_(from_spdlog(line.level), view(line.logger_name), view(line.payload));
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  LogSink callback_;
};

struct Levels {
  LogLevel fallback = LogLevel::warn;
  std::map<std::string, LogLevel, std::less<>> topics;

  LogLevel of(std::string_view topic) const {
    const auto found = topics.find(topic);
    return found == topics.end() ? fallback : found->second;
  }
  LogLevel lowest() const {
    LogLevel level = fallback;
    for (const auto& [topic, own] : topics) level = std::min(level, own);
    return level;
  }
};

Status parse_entry(std::string_view entry, Levels& levels) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) {
    BP_TRY_ASSIGN(levels.fallback, parse_log_level(entry));
    return {};
  }
  const std::string_view topic = entry.substr(0, equals);
  if (topic.empty())
    return invalid_argument(cat("log levels: '", entry, "' has no topic before '='; write topic=level"));
  BP_TRY_ASSIGN(levels.topics[std::string(topic)], parse_log_level(entry.substr(equals + 1)));
  return {};
}

Status parse_levels(std::string_view spec, Levels& levels) {
  for (size_t at = 0; at <= spec.size();) {
    const size_t comma = std::min(spec.find(',', at), spec.size());
    BP_TRY(parse_entry(spec.substr(at, comma - at), levels));
    at = comma + 1;
  }
  return {};
}

}  // namespace

struct Logger::State {
  std::shared_ptr<CallbackSink> sink;  // null = drop everything
  std::atomic<LogLevel> lowest;        // so that dropped lines take no lock
  mutable std::shared_mutex mutex;
  Levels levels;  // guarded by mutex
};

Logger::Logger(LogSink sink, LogLevel level) : state_(std::make_unique<State>()) {
  if (sink) state_->sink = std::make_shared<CallbackSink>(std::move(sink));
  state_->levels.fallback = level;
  state_->lowest = level;
}

Logger::~Logger() = default;

Status Logger::configure(std::string_view spec) {
  Levels levels;
  {
    const std::shared_lock lock(state_->mutex);
    levels.fallback = state_->levels.fallback;
  }
  BP_TRY(parse_levels(spec, levels));
  const std::unique_lock lock(state_->mutex);
  state_->lowest = levels.lowest();
  state_->levels = std::move(levels);
  return {};
}

bool Logger::enabled(LogLevel level, std::string_view topic) const {
  if (!state_->sink || level == LogLevel::off || level < state_->lowest.load(std::memory_order_relaxed)) return false;
  const std::shared_lock lock(state_->mutex);
  return level >= state_->levels.of(topic);
}

void Logger::write(LogLevel level, std::string_view topic, std::string_view text) const {
  if (!enabled(level, topic)) return;
  try {
    // One spdlog logger a line: topics are open-ended (plugin ids), and the logger's name is the topic.
    spdlog::logger line(std::string(topic), state_->sink);
    line.set_level(spdlog::level::trace);
    line.set_error_handler([](const std::string&) {});  // the default one prints
    line.log(kSpdlogLevels[static_cast<size_t>(level)], spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {  // A log line must never be the reason that work fails.
  }
}

Result<LogLevel> parse_log_level(std::string_view name) {
  const std::vector<std::string> names(kLevelNames.begin(), kLevelNames.end());
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<LogLevel>(i);
  return invalid_argument(
      cat("log level '", name, "' is unknown; levels are ", join(names, ", "), did_you_mean(name, names)));
}

}  // namespace backplane
