// Runtimes that come and go, one after the other and side by side.
#include <thread>

#include "toy_runtime.hpp"

namespace backplane {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 100;
#else
constexpr int kRounds = 1000;
#endif

class ReopenTest : public ToyRuntime {
 protected:
  // Opens a Runtime, uses its device and closes it; false if anything fails.
  bool round() {
    RuntimeOptions options;
    options.plugin_paths = {world_.folder("plugins")};
    options.search_system = false;
    options.worker_count = 1;
    const auto runtime = Runtime::open(std::move(options));
    if (!runtime.ok() || (*runtime)->devices().size() != 1) return false;
    Result<Buffer> buffer = (*runtime)->devices()[0]->allocate(0, 64, 0);
    return buffer.ok() && buffer->fill(0, 64, 1).ok();
  }
};

TEST_F(ReopenTest, APluginIsOpenedAndClosedManyTimes) {
  install("toy");
  for (int i = 0; i < kRounds; ++i) ASSERT_TRUE(round()) << i;
}

TEST_F(ReopenTest, ManyThreadsOpenAndCloseTheSamePlugin) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "TSan does not see the lock of the system's loader, under which one thread maps and others look";
#endif
  install("toy");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < kRounds / 8; ++j) EXPECT_TRUE(round()) << j;
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ReopenTest, TwoRuntimesHaveDevicesOfTheirOwn) {
  open();
  install("toy");
  ASSERT_TRUE(runtime_->rescan().ok());
  const std::unique_ptr<Runtime> first = std::move(runtime_);
  open();
  ASSERT_EQ(runtime_->devices().size(), 1u);
  EXPECT_NE(runtime_->devices()[0], first->devices()[0]);
  Buffer buffer = first->devices()[0]->allocate(0, 64, 0).value();
  runtime_.reset();  // closing one takes nothing from the other
  EXPECT_TRUE(buffer.fill(0, 64, 3).ok());
  EXPECT_EQ(first->devices()[0]->memory()->used, 1u);  // the toy counts buffers
}

}  // namespace
}  // namespace backplane
