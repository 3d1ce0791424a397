#include "scheduler/execution/race_checker.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace backplane {
namespace {

const char kMemory[2] = {};

using Accesses = std::vector<MemoryAccess>;

MemoryAccess read(uint64_t offset, uint64_t bytes, int buffer = 0) { return {&kMemory[buffer], offset, bytes, false}; }
MemoryAccess write(uint64_t offset, uint64_t bytes, int buffer = 0) { return {&kMemory[buffer], offset, bytes, true}; }

std::optional<std::string> note(RaceChecker& checker, uint32_t lane, uint64_t tick, const Accesses& accesses,
                                const char* what = "task") {
  return checker.access(lane, tick, accesses, what);
}

TEST(RaceChecker, NamesBothAccessesOfARace) {
  RaceChecker checker(2);
  EXPECT_EQ(note(checker, 0, 1, {write(0, 64)}, "split 3"), std::nullopt);
  const std::optional<std::string> race = note(checker, 1, 1, {read(32, 64)}, "copy 5");
  ASSERT_TRUE(race);
  EXPECT_EQ(*race,
            "race on bytes [32, 64) of a buffer: 'copy 5' (task 1 of lane 1) reads them, 'split 3' (task 1 of lane 0) "
            "writes them, and no wait orders the two");
}

TEST(RaceChecker, AWaitPutsTasksInOrder) {
  RaceChecker checker(2);
  note(checker, 0, 1, {write(0, 64)});
  checker.join(1, 0, 1);
  EXPECT_FALSE(note(checker, 1, 1, {read(0, 64)}));
  EXPECT_TRUE(note(checker, 0, 2, {write(0, 64)})) << "the wait goes one way";
}

TEST(RaceChecker, AWaitCoversNoLaterTask) {
  RaceChecker checker(2);
  note(checker, 0, 1, {write(0, 64)});
  note(checker, 0, 2, {write(64, 64)});
  checker.join(1, 0, 1);
  EXPECT_FALSE(note(checker, 1, 1, {read(0, 64)}));
  EXPECT_TRUE(note(checker, 1, 1, {read(0, 65)}));
}

TEST(RaceChecker, ReadersDoNotRaceAndTheOtherLanesWriterMustWaitForAll) {
  RaceChecker checker(3);
  EXPECT_FALSE(note(checker, 0, 1, {read(0, 8)}));
  EXPECT_FALSE(note(checker, 1, 1, {read(0, 8)}));
  checker.join(2, 0, 1);
  const std::optional<std::string> race = note(checker, 2, 1, {write(0, 8)});
  ASSERT_TRUE(race) << "lane 1 was not waited for";
  EXPECT_NE(race->find("task 1 of lane 1) reads"), std::string::npos) << *race;
  EXPECT_FALSE(note(checker, 2, 2, {write(0, 8)})) << "a lane does not race with itself";
}

TEST(RaceChecker, BytesAndBuffersApartDoNotRace) {
  RaceChecker checker(2);
  EXPECT_FALSE(note(checker, 0, 1, {write(0, 64), write(128, 64), write(0, 64, 1)}));
  EXPECT_FALSE(note(checker, 1, 1, {write(64, 64), write(192, 1), read(64, 100, 1), write(10, 0)}));
  EXPECT_TRUE(note(checker, 1, 1, {write(191, 1)}));
}

TEST(RaceChecker, WaitsAreTransitiveAsOfTheTaskThatIsWaitedFor) {
  RaceChecker checker(3);
  note(checker, 0, 1, {write(0, 8)});
  note(checker, 1, 1, {});
  checker.join(1, 0, 1);
  note(checker, 1, 2, {});
  checker.join(2, 1, 1);  // task 1 of lane 1 came before its wait
  EXPECT_TRUE(note(checker, 2, 1, {read(0, 8)}));
  checker.join(2, 1, 2);
  EXPECT_FALSE(note(checker, 2, 2, {read(0, 8)}));
}

TEST(RaceChecker, ATaskThatTouchesNothingPassesOnWhatItWaitedFor) {
  RaceChecker checker(3);
  note(checker, 0, 1, {write(0, 8)});
  checker.join(1, 0, 1);  // for task 1, which notes no access
  checker.join(2, 1, 1);
  EXPECT_FALSE(note(checker, 2, 1, {write(0, 8)}));
}

TEST(RaceChecker, DrainedLanesKnowAll) {
  RaceChecker checker(2);
  note(checker, 0, 1, {write(0, 8)});
  note(checker, 1, 1, {write(8, 8)});
  checker.drained();
  EXPECT_FALSE(note(checker, 0, 2, {write(8, 8)}));
  EXPECT_FALSE(note(checker, 1, 2, {write(0, 8)}));
  EXPECT_TRUE(note(checker, 1, 3, {write(8, 8)}));
}

TEST(RaceChecker, MemoryStaysBoundedWhenLanesTellEachOther) {
  RaceChecker checker(2);
  std::mt19937_64 random(1);
  size_t most = 0;
  for (uint64_t tick = 1; tick <= 5000; ++tick) {
    const uint32_t lane = tick % 2;
    checker.join(lane, 1 - lane, tick - 1);
    ASSERT_FALSE(note(checker, lane, tick, {write(random() % 1000, 1 + random() % 100), read(random() % 1000, 8)}));
    if (tick > 100) most = std::max(most, checker.footprint());
  }
  EXPECT_LT(most, 200u);
}

TEST(RaceChecker, MemoryStaysBoundedWhenALaneIsNeverHeardOf) {
  RaceChecker checker(3);  // lane 2 takes no part, so that nothing is known to all
  for (uint64_t tick = 1; tick <= 20000; ++tick) {
    const uint32_t lane = tick % 2;
    checker.join(lane, 1 - lane, tick - 1);
    ASSERT_FALSE(note(checker, lane, tick, {write(0, 64), read(64, 64)}));
  }
  EXPECT_LT(checker.footprint(), 10000u);
}

// Against the plain definition: tasks and waits at random; two accesses of one byte race if one is a write and the
// happens-before graph has no path.
struct Task {
  uint32_t lane;
  uint64_t tick;
  std::vector<size_t> after;  // indices of tasks
  MemoryAccess access;
};

std::vector<Task> random_tasks(std::mt19937_64& random, uint32_t lanes) {
  std::vector<Task> tasks;
  std::vector<std::vector<size_t>> of_lane(lanes);
  for (int i = 0; i < 40; ++i) {
    const auto lane = static_cast<uint32_t>(random() % lanes);
    Task task{lane, of_lane[lane].size() + 1, {}, {&kMemory[0], random() % 8, random() % 4, random() % 3 == 0}};
    if (!of_lane[lane].empty()) task.after.push_back(of_lane[lane].back());
    while (random() % 2 == 0 && !tasks.empty()) task.after.push_back(random() % tasks.size());
    of_lane[lane].push_back(tasks.size());
    tasks.push_back(task);
  }
  return tasks;
}

bool overlaps(const MemoryAccess& a, const MemoryAccess& b) {
  return (a.write || b.write) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes && a.bytes != 0 &&
         b.bytes != 0;
}

// Index of the first task with a race, or the number of tasks.
size_t first_race(const std::vector<Task>& tasks) {
  std::vector<std::vector<bool>> before(tasks.size(), std::vector<bool>(tasks.size(), false));
  for (size_t i = 0; i < tasks.size(); ++i) {
    for (const size_t earlier : tasks[i].after) {
      before[i][earlier] = true;
      for (size_t k = 0; k < earlier; ++k)
        if (before[earlier][k]) before[i][k] = true;
    }
    for (size_t k = 0; k < i; ++k)
      if (!before[i][k] && overlaps(tasks[i].access, tasks[k].access)) return i;
  }
  return tasks.size();
}

TEST(RaceChecker, AgreesWithTheDefinition) {
  size_t raced = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto lanes = static_cast<uint32_t>(1 + random() % 4);
    const std::vector<Task> tasks = random_tasks(random, lanes);
    RaceChecker checker(lanes);
    size_t found = 0;
    for (; found < tasks.size(); ++found) {
      const Task& task = tasks[found];
      for (const size_t earlier : task.after) checker.join(task.lane, tasks[earlier].lane, tasks[earlier].tick);
      if (note(checker, task.lane, task.tick, {task.access})) break;
    }
    ASSERT_EQ(found, first_race(tasks)) << "seed " << seed;
    raced += found < tasks.size() ? 1 : 0;
  }
  EXPECT_GT(raced, 100u);
  EXPECT_LT(raced, 1900u);
}

TEST(RaceChecker, LanesMayCallAtTheSameTime) {
  RaceChecker checker(4);
  std::vector<std::thread> threads;
  for (uint32_t lane = 0; lane < 4; ++lane)
    threads.emplace_back([&checker, lane] {
      for (uint64_t tick = 1; tick <= 500; ++tick) {
        EXPECT_FALSE(note(checker, lane, tick, {write(lane * 100, 100), read(1000, 50)}));
        checker.join(lane, (lane + 1) % 4, tick / 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace backplane
