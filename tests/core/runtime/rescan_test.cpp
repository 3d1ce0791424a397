// What an application holds while plugins come and go under it.
#include <atomic>
#include <set>
#include <thread>

#include "toy_runtime.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class RuntimeRescanTest : public ToyRuntime {
 protected:
  // "<name> <selector>" of every device.
  std::vector<std::string> listed() const {
    std::vector<std::string> lines;
    for (const Device* device : runtime_->devices()) lines.push_back(device->name() + " " + device->selector());
    return lines;
  }
};

using Lines = std::vector<std::string>;

TEST_F(RuntimeRescanTest, DevicesKeepTheirPlaceInMemoryAndTheirNames) {
  install("toy_cpu", "org.test.toy-cpu");
  open();
  ASSERT_EQ(listed(), (Lines{"toy0 org.test.toy-cpu:0", "toy1 org.test.toy-cpu:1"}));
  const std::vector<Device*> before = runtime_->devices();
  Buffer buffer = before[0]->allocate(0, 8, 0).value();

  install("toy");
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(listed(), (Lines{"toy0.2 org.test.toy:0", "toy0 org.test.toy-cpu:0", "toy1 org.test.toy-cpu:1"}));
  EXPECT_EQ(runtime_->device("toy0").value(), before[0]);
  EXPECT_EQ(runtime_->device("toy1").value(), before[1]);
  EXPECT_TRUE(buffer.fill(0, 8, 1).ok());

  fs::remove_all(world_.folder("plugins"));
  world_.folder("plugins");
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(listed(), (Lines{"toy0.2 org.test.toy:0", "toy0 org.test.toy-cpu:0", "toy1 org.test.toy-cpu:1"}));
  EXPECT_EQ(runtime_->reports().size(), 2u);
  EXPECT_TRUE(buffer.fill(0, 8, 2).ok());
}

// Only open and rescan look at the disk.
TEST_F(RuntimeRescanTest, ListingFindsNothingNew) {
  open();
  install("toy");
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(runtime_->devices().empty());
    EXPECT_TRUE(runtime_->reports().empty());
    EXPECT_TRUE(runtime_->plugins().empty());
    EXPECT_FALSE(runtime_->best_device().ok());
  }
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(runtime_->devices().size(), 1u);
}

// Sixteen threads list, select and rescan while plugins are dropped in. Run under TSan too.
TEST_F(RuntimeRescanTest, EveryCallFromManyThreadsSeesWholeStates) {
  install("toy_cpu", "org.test.toy-cpu");
  open();
  Device* const first = runtime_->device("org.test.toy-cpu:0").value();
  const std::string first_name = first->name();
  std::atomic<bool> done{false};
  std::atomic<int> scans{0};
  std::vector<std::thread> threads;
  const auto read = [&] {
    while (!done) {
      std::set<std::string> names;
      for (const Device* device : runtime_->devices())
        EXPECT_TRUE(names.insert(device->name()).second) << device->name();
      EXPECT_GE(names.size(), 2u);
      EXPECT_EQ(runtime_->device(first_name).value(), first);
      EXPECT_GE(runtime_->select("").value().size(), 2u);
      for (const LoadReport& report : runtime_->reports()) EXPECT_FALSE(report.code.empty());
      EXPECT_TRUE(runtime_->notices().empty());
      EXPECT_GE(runtime_->plugins().size(), 1u);
      EXPECT_NE(runtime_->configuration(), nullptr);
    }
  };
  const auto scan = [&] {
    while (!done) {
      EXPECT_TRUE(runtime_->rescan().ok());
      ++scans;
    }
  };
  for (int i = 0; i < 12; ++i) threads.emplace_back(read);
  for (int i = 0; i < 4; ++i) threads.emplace_back(scan);
  for (const char* fixture : {"toy_open_error", "toy_no_entry", "toy"}) {
    install(fixture);
    for (const int seen = scans; scans < seen + 4;) std::this_thread::yield();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(runtime_->rescan().ok());
  EXPECT_EQ(runtime_->devices().size(), 3u);
  EXPECT_EQ(runtime_->plugins().size(), 2u);
}

}  // namespace
}  // namespace backplane
