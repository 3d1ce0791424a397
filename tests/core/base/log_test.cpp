#include "backplane/base/log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace backplane {
namespace {

struct Line {
  LogLevel level;
  std::string topic, text;
};

class LogTest : public ::testing::Test {
 protected:
  LogSink sink() {
    return [this](LogLevel level, std::string_view topic, std::string_view text) {
      lines_.push_back({level, std::string(topic), std::string(text)});
    };
  }
  std::vector<Line> lines_;
};

TEST_F(LogTest, DeliversLevelTopicAndText) {
  const Logger log(sink());
  log.write(LogLevel::error, "registry", "text with {} braces");
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].level, LogLevel::error);
  EXPECT_EQ(lines_[0].topic, "registry");
  EXPECT_EQ(lines_[0].text, "text with {} braces");
}

TEST_F(LogTest, DropsWhatIsBelowTheLevel) {
  const Logger log(sink(), LogLevel::warn);
  log.write(LogLevel::info, "a", "dropped");
  log.write(LogLevel::warn, "a", "kept");
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].text, "kept");
}

TEST_F(LogTest, TopicsHaveLevelsOfTheirOwn) {
  Logger log(sink());
  ASSERT_TRUE(log.configure("error,registry=trace,noisy=off").ok());
  EXPECT_TRUE(log.enabled(LogLevel::trace, "registry"));
  EXPECT_FALSE(log.enabled(LogLevel::warn, "scheduler"));
  EXPECT_TRUE(log.enabled(LogLevel::error, "scheduler"));
  EXPECT_FALSE(log.enabled(LogLevel::error, "noisy"));
  log.write(LogLevel::trace, "registry", "kept");
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(LogTest, BadSpecChangesNothing) {
  Logger log(sink(), LogLevel::info);
  const Status status = log.configure("trace,registry=wrn");
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("did you mean 'warn'"), std::string::npos) << status.message();
  EXPECT_FALSE(log.configure("=info").ok());
  EXPECT_FALSE(log.configure("").ok());
  EXPECT_TRUE(log.enabled(LogLevel::info, "x"));
  EXPECT_FALSE(log.enabled(LogLevel::debug, "x"));
}

TEST(Log, WithoutSinkNothingIsEnabled) {
  const Logger log;
  EXPECT_FALSE(log.enabled(LogLevel::error, "x"));
  log.write(LogLevel::error, "x", "nowhere");
}

TEST(Log, SurvivesASinkThatThrowsOrLogs) {
  int calls = 0;
  Logger* self = nullptr;
  Logger log([&](LogLevel, std::string_view, std::string_view text) {
    ++calls;
    if (text == "outer") self->write(LogLevel::error, "x", "inner");
    throw std::runtime_error("sink");
  });
  self = &log;
  ::testing::internal::CaptureStderr();
  log.write(LogLevel::error, "x", "outer");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(calls, 2);
}

TEST(Log, CanBeConfiguredWhileThreadsWrite) {
  std::atomic<int> lines{0};
  Logger log([&](LogLevel, std::string_view, std::string_view) { ++lines; }, LogLevel::info);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) log.write(LogLevel::error, "topic", "text");
    });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(log.configure(i % 2 == 0 ? "info,topic=error" : "error").ok());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines, 600);
}

}  // namespace
}  // namespace backplane
