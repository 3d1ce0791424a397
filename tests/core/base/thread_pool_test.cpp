#include "backplane/base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace backplane {
namespace {

// Passes a callable as fn and arg.
template <class Fn>
Status run(Workers& workers, uint32_t count, uint32_t flags, Fn&& body) {
  using Body = std::remove_reference_t<Fn>;
  return workers.parallel_for(
      count, flags, [](void* arg, uint32_t task) { (*static_cast<Body*>(arg))(task); }, &body);
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const uint32_t threads : {1u, 2u, 4u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.count(), threads);
    for (const uint32_t tasks : {0u, 1u, 3u, 4u, 1000u}) {
      std::vector<std::atomic<int>> runs(tasks);
      ASSERT_TRUE(run(pool, tasks, 0, [&](uint32_t task) { ++runs[task]; }).ok());
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, ResultsAreVisibleToTheCaller) {
  ThreadPool pool(4);
  std::vector<uint32_t> squares(64);  // plain memory: TSan watches
  for (uint32_t round = 0; round < 200; ++round) {
    ASSERT_TRUE(run(pool, 64, 0, [&](uint32_t task) { squares[task] = task * round; }).ok());
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(squares[i], i * round);
  }
}

TEST(ThreadPool, DefaultCountIsPositive) {
  ThreadPool pool;
  EXPECT_GE(pool.count(), 1u);
}

// A gang whose tasks wait for each other hangs unless all of them run at the same time.
TEST(ThreadPool, GangTasksMayMeetAtBarriers) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::atomic<uint32_t> arrived{0};
    std::set<std::thread::id> ids;
    std::mutex mutex;
    ASSERT_TRUE(run(pool, 4, BP_PARALLEL_GANG, [&](uint32_t) {
                  ++arrived;
                  while (arrived < 4) std::this_thread::yield();
                  const std::lock_guard lock(mutex);
                  ids.insert(std::this_thread::get_id());
                }).ok());
    ASSERT_EQ(ids.size(), 4u);
  }
}

TEST(ThreadPool, GangsFromManyThreadsTakeTurns) {
  ThreadPool pool(3);
  std::atomic<int> inside{0}, gangs{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        std::atomic<uint32_t> arrived{0};
        EXPECT_TRUE(run(pool, 3, BP_PARALLEL_GANG, [&](uint32_t task) {
                      EXPECT_TRUE(task != 0 || inside.fetch_add(1) == 0);
                      ++arrived;
                      while (arrived < 3) std::this_thread::yield();
                      if (task == 0) --inside, ++gangs;
                    }).ok());
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(gangs, 90);
}

TEST(ThreadPool, PlainRegionRunsAloneWhileThePoolIsTaken) {
  ThreadPool pool(2);
  std::atomic<bool> taken{false}, release{false};
  std::thread holder([&] {
    EXPECT_TRUE(run(pool, 2, BP_PARALLEL_GANG, [&](uint32_t) {
                  taken = true;
                  while (!release) std::this_thread::yield();
                }).ok());
  });
  while (!taken) std::this_thread::yield();
  const auto self = std::this_thread::get_id();
  EXPECT_TRUE(run(pool, 8, 0, [&](uint32_t) { EXPECT_EQ(std::this_thread::get_id(), self); }).ok());
  release = true;
  holder.join();
}

TEST(ThreadPool, NestedPlainRunsInline) {
  ThreadPool pool(3);
  std::atomic<int> inner{0};
  ASSERT_TRUE(run(pool, 3, 0, [&](uint32_t) {
                const auto self = std::this_thread::get_id();
                EXPECT_TRUE(run(pool, 5, 0, [&](uint32_t) {
                              EXPECT_EQ(std::this_thread::get_id(), self);
                              ++inner;
                            }).ok());
              }).ok());
  EXPECT_EQ(inner, 15);
}

TEST(ThreadPool, NestedGangIsRefusedUnlessOfOne) {
  for (const uint32_t outer_tasks : {1u, 3u}) {  // a region of one runs on its caller, and is a region all the same
    ThreadPool pool(3);
    std::atomic<int> ran{0};
    ASSERT_TRUE(run(pool, outer_tasks, 0, [&](uint32_t) {
                  const Status two = run(pool, 2, BP_PARALLEL_GANG, [&](uint32_t) { ran += 100; });
                  EXPECT_EQ(two.code(), Code::failed_precondition);
                  EXPECT_TRUE(run(pool, 1, BP_PARALLEL_GANG, [&](uint32_t) { ++ran; }).ok());
                }).ok());
    EXPECT_EQ(ran, static_cast<int>(outer_tasks));
  }
}

TEST(ThreadPool, RefusesWhatTheContractForbids) {
  ThreadPool pool(2);
  bool ran = false;
  EXPECT_EQ(run(pool, 3, BP_PARALLEL_GANG, [&](uint32_t) { ran = true; }).code(), Code::invalid_argument);
  EXPECT_EQ(run(pool, 1, 0x80, [&](uint32_t) { ran = true; }).code(), Code::invalid_argument);
  EXPECT_EQ(pool.parallel_for(1, 0, nullptr, nullptr).code(), Code::invalid_argument);
  EXPECT_FALSE(ran);
}

TEST(ThreadPool, AThrowingTaskIsReportedAndThePoolGoesOn) {
  ThreadPool pool(3);
  std::atomic<int> ran{0};
  const Status status = run(pool, 30, 0, [&](uint32_t task) {
    ++ran;
    if (task == 7) throw std::runtime_error("seven");
  });
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_NE(status.message().find("seven"), std::string::npos);
  EXPECT_EQ(ran, 30);
  EXPECT_TRUE(run(pool, 30, 0, [&](uint32_t) {}).ok());
}

TEST(ThreadPool, RegionsFromManyThreadsAllFinish) {
  ThreadPool pool(3);
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE(run(pool, 5, 0, [&](uint32_t) { ++ran; }).ok());
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ran, 2000);
}

}  // namespace
}  // namespace backplane
