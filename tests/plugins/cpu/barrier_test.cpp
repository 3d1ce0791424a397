#include "src/barrier.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace backplane_cpu::testing {
namespace {

// More threads than processors: every round, each must see what all others wrote before the barrier.
TEST(BarrierTest, EveryoneSeesTheRoundBefore) {
  constexpr uint32_t kThreads = 12, kRounds = 300;
  Barrier barrier(kThreads);
  std::vector<uint32_t> written(kThreads, 0);
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t self = 0; self < kThreads; ++self) {
    threads.emplace_back([&, self] {
      for (uint32_t round = 1; round <= kRounds; ++round) {
        written[self] = round;
        barrier.wait();
        for (const uint32_t value : written) wrong += value != round;
        barrier.wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(BarrierTest, OneWorkerNeverWaits) {
  Barrier barrier(1);
  barrier.wait();
  barrier.wait();
}

}  // namespace
}  // namespace backplane_cpu::testing
