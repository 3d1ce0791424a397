#include "registry/plugin/host_services.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "backplane/base/thread_pool.hpp"

namespace backplane {
namespace {

class HostServicesTest : public ::testing::Test {
 protected:
  HostServicesTest()
      : log_(
            [this](LogLevel level, std::string_view topic, std::string_view text) {
              lines_.push_back({level, std::string(topic), std::string(text)});
            },
            LogLevel::trace),
        pool_(3),
        services_(log_, pool_,
                  [this](const std::string& id, bp_device*, uint32_t what, const Status& reason) {
                    events_.push_back(id + " " + std::to_string(what) + " " + reason.to_string());
                  }),
        host_(services_.add_plugin("org.test.a")),
        table_(*services_.table()) {}

  struct Line {
    LogLevel level;
    std::string topic, text;
  };
  std::vector<Line> lines_;
  std::vector<std::string> events_;
  Logger log_;
  ThreadPool pool_;
  HostServices services_;
  bp_host* host_;
  const bp_host_i& table_;
};

TEST_F(HostServicesTest, TableIsComplete) {
  EXPECT_EQ(table_.head.size, sizeof(bp_host_i));
  EXPECT_EQ(table_.head.kind, static_cast<uint32_t>(BP_KIND_TABLE_HOST));
  EXPECT_EQ(table_.get_extension(host_, "x", 0), nullptr);
}

TEST_F(HostServicesTest, LogsUnderThePluginsId) {
  table_.log(host_, BP_LOG_WARN, "text and more", 4);
  table_.log(host_, 99, "unknown level", 13);
  table_.log(host_, BP_LOG_WARN, nullptr, 4);
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_EQ(lines_[0].topic, "org.test.a");
  EXPECT_EQ(lines_[0].text, "text");
  EXPECT_EQ(lines_[0].level, LogLevel::warn);
  EXPECT_EQ(lines_[1].level, LogLevel::info);
}

TEST_F(HostServicesTest, InternsNames) {
  const uint32_t id = table_.intern(host_, "vendor.op", BP_NAMESPACE_OP);
  EXPECT_GE(id, BP_NAMED_BASE);
  EXPECT_NE(id, BP_NONE);
  bp_host* other = services_.add_plugin("org.test.b");
  EXPECT_EQ(table_.intern(other, "vendor.op", BP_NAMESPACE_OP), id);
  EXPECT_EQ(services_.intern("vendor.op", BP_NAMESPACE_OP), id);
  EXPECT_NE(table_.intern(host_, "vendor.op", BP_NAMESPACE_ATTR), id);
  EXPECT_NE(table_.intern(host_, "vendor.op2", BP_NAMESPACE_OP), id);
  EXPECT_EQ(table_.intern(host_, "", BP_NAMESPACE_OP), BP_NONE);
  EXPECT_EQ(table_.intern(host_, nullptr, BP_NAMESPACE_OP), BP_NONE);
  EXPECT_EQ(table_.intern(host_, "x", 0), BP_NONE);
  EXPECT_EQ(table_.intern(host_, "x", 4), BP_NONE);
}

TEST_F(HostServicesTest, InternAgreesBetweenThreads) {
  std::vector<std::vector<uint32_t>> ids(4);
  std::vector<std::thread> threads;
  for (auto& own : ids)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        own.push_back(table_.intern(host_, ("op" + std::to_string(i)).c_str(), BP_NAMESPACE_OP));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : ids) EXPECT_EQ(own, ids[0]);
  EXPECT_EQ(std::set<uint32_t>(ids[0].begin(), ids[0].end()).size(), 100u);
}

TEST_F(HostServicesTest, RunsTasksOnThePool) {
  EXPECT_EQ(table_.worker_count(host_), 3u);
  std::atomic<int> ran{0};
  const bp_task_fn count = [](void* arg, uint32_t) { ++*static_cast<std::atomic<int>*>(arg); };
  EXPECT_EQ(table_.parallel_for(host_, 10, 0, count, &ran), BP_OK);
  EXPECT_EQ(ran, 10);
  EXPECT_EQ(table_.parallel_for(host_, 4, BP_PARALLEL_GANG, count, &ran), BP_E_INVALID_ARG);
  EXPECT_EQ(table_.parallel_for(host_, 1, 0x10, count, &ran), BP_E_INVALID_ARG);
  EXPECT_EQ(table_.parallel_for(host_, 1, 0, nullptr, &ran), BP_E_INVALID_ARG);
  EXPECT_EQ(ran, 10);
}

TEST_F(HostServicesTest, NestedGangIsAWrongState) {
  struct Nested {
    const bp_host_i& table;
    bp_host* host;
    std::atomic<bp_code> code{BP_OK};
  } nested{table_, host_};
  const bp_task_fn outer = [](void* arg, uint32_t) {
    auto& self = *static_cast<Nested*>(arg);
    self.code = self.table.parallel_for(
        self.host, 2, BP_PARALLEL_GANG, [](void*, uint32_t) {}, nullptr);
  };
  EXPECT_EQ(table_.parallel_for(host_, 2, 0, outer, &nested), BP_OK);
  EXPECT_EQ(nested.code, BP_E_STATE);
}

TEST_F(HostServicesTest, CancelsRunsUntilTheyFinish) {
  EXPECT_EQ(table_.cancelled(host_, 7), 0u);
  services_.cancel(7);
  services_.cancel(0);
  EXPECT_EQ(table_.cancelled(host_, 7), 1u);
  EXPECT_EQ(table_.cancelled(host_, 8), 0u);
  EXPECT_EQ(table_.cancelled(host_, 0), 0u);
  services_.finish(7);
  EXPECT_EQ(table_.cancelled(host_, 7), 0u);
}

TEST_F(HostServicesTest, PassesDeviceEventsOn) {
  char text[] = "fell off the bus";
  bp_error error = {};
  error.size = sizeof error;
  error.code = BP_E_DEVICE_LOST;
  error.message = text;
  error.message_cap = sizeof text;
  table_.device_event(host_, nullptr, BP_DEVICE_EVENT_LOST, &error);
  table_.device_event(host_, nullptr, BP_DEVICE_EVENT_BACK, nullptr);
  EXPECT_EQ(events_, (std::vector<std::string>{"org.test.a 1 unavailable: fell off the bus", "org.test.a 2 ok"}));
}

}  // namespace
}  // namespace backplane
