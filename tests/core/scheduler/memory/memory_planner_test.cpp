#include "scheduler/memory/memory_planner.hpp"

#include <gtest/gtest.h>

#include <random>

#include "block_families.hpp"
#include "memory_plan_check.hpp"
#include "optimal_peak.hpp"

namespace backplane {
namespace {

using testing::check_memory_plan;

using Rng = std::mt19937_64;

std::vector<MemoryBlock> random_blocks(Rng& rng, size_t count, uint64_t most_bytes = 5000) {
  std::vector<MemoryBlock> blocks;
  const uint64_t stretch = rng() % 16 == 0 ? 10'000'000 : 1;  // steps may be far apart
  for (size_t i = 0; i < count; ++i) {
    const uint64_t first = rng() % count, length = rng() % (rng() % 4 == 0 ? count : 4);
    const uint64_t bytes = rng() % 8 == 0 ? 0 : 1 + rng() % most_bytes;
    blocks.push_back(
        {static_cast<uint32_t>(first * stretch), static_cast<uint32_t>((first + length) * stretch), bytes});
  }
  return blocks;
}

MemoryLimits random_limits(Rng& rng) {
  MemoryLimits limits;
  limits.alignment = uint64_t{1} << (rng() % 10);
  if (rng() % 4 == 0) limits.max_chunk_bytes = 5000 + rng() % 8000;
  if (rng() % 16 == 0) limits.capacity_bytes = 5000;
  limits.comparisons_per_block = rng() % 8 == 0 ? 600 : rng() % 100;
  return limits;
}

bool equal(const MemoryPlan& a, const MemoryPlan& b) {
  for (size_t i = 0; i < a.places.size(); ++i)
    if (a.places[i].chunk != b.places[i].chunk || a.places[i].offset != b.places[i].offset) return false;
  return a.chunk_bytes == b.chunk_bytes && a.comparisons == b.comparisons && a.method == b.method;
}

TEST(MemoryPlanner, RandomBlocksAreDisjointAndInBounds) {
  for (uint64_t seed = 0; seed < 100'000; ++seed) {
    Rng rng(seed);
    const std::vector<MemoryBlock> blocks = random_blocks(rng, 1 + rng() % (seed % 500 == 0 ? 200 : 12));
    const MemoryLimits limits = random_limits(rng);
    const Result<MemoryPlan> plan = plan_memory(blocks, limits);
    ASSERT_TRUE(plan.ok()) << "seed " << seed << ": " << plan.status().to_string();
    ASSERT_EQ(check_memory_plan(blocks, limits, *plan), "") << "seed " << seed;
  }
}

TEST(MemoryPlanner, NeverBelowTheOptimumAndFoundWhereTheDeviceIsThatSmall) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Rng rng(seed);
    const std::vector<MemoryBlock> blocks = random_blocks(rng, seed % 40 == 0 ? 8 : 1 + rng() % 6, 12);
    const uint64_t optimum = testing::optimal_peak(blocks);
    MemoryLimits limits;
    limits.alignment = 1;
    ASSERT_GE(plan_memory(blocks, limits)->peak_bytes, optimum) << "seed " << seed;
    limits.capacity_bytes = optimum;
    ASSERT_EQ(plan_memory(blocks, limits)->peak_bytes, optimum) << "seed " << seed;
  }
}

TEST(MemoryPlanner, MoreWorkNeverGivesALargerPeak) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const std::vector<MemoryBlock> blocks = random_blocks(rng, 40);
    MemoryLimits limits;
    if (seed % 3 == 0) limits.max_chunk_bytes = 7000;
    uint64_t last = UINT64_MAX;
    for (const uint64_t work : {0, 10, 50, 200, 1000, 5000}) {
      limits.comparisons_per_block = work;
      const uint64_t peak = plan_memory(blocks, limits)->peak_bytes;
      ASSERT_LE(peak, last) << "seed " << seed << ", work " << work;
      last = peak;
    }
  }
}

TEST(MemoryPlanner, EqualBlocksHaveEqualPlans) {
  for (const testing::BlockFamily& family : testing::make_block_families()) {
    const MemoryPlan first = plan_memory(family.blocks, {}).value();
    static_cast<void>(plan_memory(std::vector<MemoryBlock>{{0, 3, 77}, {1, 2, 9}}, {}));
    EXPECT_TRUE(equal(first, plan_memory(family.blocks, {}).value())) << family.name;
  }
}

TEST(MemoryPlanner, NetworksReachTheBound) {
  for (const testing::BlockFamily& family : testing::make_block_families()) {
    const MemoryPlan plan = plan_memory(family.blocks, {}).value();
    EXPECT_EQ(check_memory_plan(family.blocks, {}, plan), "") << family.name;
    const bool is_random = family.name.starts_with("random") || family.name == "backward";
    const uint64_t allowed = plan.lower_bound_bytes / (family.name == "backward" ? 500 : 8);
    EXPECT_LE(plan.peak_bytes - plan.lower_bound_bytes, is_random ? allowed : 0) << family.name;
    EXPECT_LE(plan.comparisons, (is_random ? 2000 : 100) * family.blocks.size()) << family.name;
  }
}

TEST(MemoryPlanner, MoreWorkRepairsWhatTheOrdersLeave) {
  const testing::BlockFamily family = testing::make_random_blocks(300, 20, 0, 7);
  MemoryLimits limits;
  limits.comparisons_per_block = 100;
  const MemoryPlan little = plan_memory(family.blocks, limits).value();
  limits.comparisons_per_block = 20'000;
  const MemoryPlan much = plan_memory(family.blocks, limits).value();
  EXPECT_EQ(much.method, "squeaky wheel");
  EXPECT_LT(much.peak_bytes, little.peak_bytes);
  EXPECT_EQ(check_memory_plan(family.blocks, limits, much), "");
}

TEST(MemoryPlanner, LargeBlocksOnTheirOwnComeNearTheBound) {
  MemoryLimits limits;
  limits.comparisons_per_block = 20'000;
  const testing::BlockFamily few_long = testing::make_random_blocks(1000, 20, 500, 1);
  const MemoryPlan reached = plan_memory(few_long.blocks, limits).value();
  EXPECT_EQ(reached.method, "coarse to fine");
  EXPECT_EQ(reached.peak_bytes, reached.lower_bound_bytes);
  EXPECT_EQ(check_memory_plan(few_long.blocks, limits, reached), "");
  const testing::BlockFamily many_long = testing::make_random_blocks(1000, 100, 10, 1);
  const MemoryPlan near = plan_memory(many_long.blocks, limits).value();
  EXPECT_LE(near.peak_bytes - near.lower_bound_bytes, near.lower_bound_bytes / 50);
  EXPECT_EQ(check_memory_plan(many_long.blocks, limits, near), "");
  limits.max_chunk_bytes = near.lower_bound_bytes / 3 + 5;  // not aligned
  EXPECT_EQ(check_memory_plan(many_long.blocks, limits, plan_memory(many_long.blocks, limits).value()), "");
}

TEST(MemoryPlanner, ReusesMemoryOfTheDead) {
  // A chain: each block dies when the one after next begins, so two are alive at once.
  std::vector<MemoryBlock> blocks;
  for (uint32_t i = 0; i < 100; ++i) blocks.push_back({i, i + 1, 1024});
  const MemoryPlan plan = plan_memory(blocks, {}).value();
  EXPECT_EQ(plan.lower_bound_bytes, 2048u);
  EXPECT_EQ(plan.peak_bytes, 2048u);
}

TEST(MemoryPlanner, AnyNumberOfHoles) {
  // Every second of 20 000 blocks dies at once, which leaves 10 000 holes; ggml's allocator has room for 256.
  constexpr uint32_t kCount = 20'000;
  std::vector<MemoryBlock> blocks;
  for (uint32_t i = 0; i < kCount; ++i) blocks.push_back({i, i % 2 == 0 ? kCount : 2 * kCount, 64 + 64 * (i % 7)});
  for (uint32_t i = 0; i < kCount / 2; ++i) blocks.push_back({kCount + 1 + i, 2 * kCount, 64});
  MemoryLimits limits;
  limits.comparisons_per_block = 0;
  const MemoryPlan plan = plan_memory(blocks, limits).value();
  EXPECT_EQ(check_memory_plan(blocks, limits, plan), "");
  EXPECT_EQ(plan.peak_bytes, plan.lower_bound_bytes);
}

TEST(MemoryPlanner, LowerBoundIsTheMostAliveAtOnce) {
  const std::vector<MemoryBlock> blocks = {{0, 4, 100}, {1, 2, 300}, {3, 4, 50}, {2, 3, 64}};
  EXPECT_EQ(plan_memory(blocks, {.alignment = 1}).value().lower_bound_bytes, 464u);
}

TEST(MemoryPlanner, NoBlocksAndEmptyBlocks) {
  EXPECT_EQ(plan_memory({}, {}).value().peak_bytes, 0u);
  const std::vector<MemoryBlock> blocks = {{0, 0, 0}, {0, 3, 0}};
  const MemoryPlan plan = plan_memory(blocks, {.max_chunk_bytes = 64}).value();
  EXPECT_EQ(plan.peak_bytes, 0u);
  EXPECT_EQ(check_memory_plan(blocks, {}, plan), "");
}

TEST(MemoryPlanner, WhatDoesNotFitOneChunkGoesToSeveral) {
  std::vector<MemoryBlock> blocks;
  for (uint64_t bytes = 100; bytes <= 1000; bytes += 100) blocks.push_back({0, 1, bytes});
  for (uint64_t max_bytes = 1000; max_bytes <= 6000; max_bytes += 17) {
    const MemoryLimits limits{.alignment = 64, .max_chunk_bytes = max_bytes};
    const MemoryPlan plan = plan_memory(blocks, limits).value();
    EXPECT_EQ(check_memory_plan(blocks, limits, plan), "") << max_bytes;
    EXPECT_LE(plan.chunk_bytes.size(), 2 * 5824 / max_bytes + 1) << max_bytes;
  }
  EXPECT_EQ(plan_memory(blocks, {.alignment = 64, .max_chunk_bytes = 5824}).value().chunk_bytes.size(), 1u);
}

TEST(MemoryPlanner, ChunksAreUsedAgain) {
  std::vector<MemoryBlock> blocks;
  for (uint32_t i = 0; i < 50; ++i) blocks.push_back({i, i + 1, 1000});
  const MemoryLimits limits{.alignment = 8, .max_chunk_bytes = 1000};
  const MemoryPlan plan = plan_memory(blocks, limits).value();
  EXPECT_EQ(check_memory_plan(blocks, limits, plan), "");
  EXPECT_EQ(plan.peak_bytes, 2000u);
}

TEST(MemoryPlanner, ABlockMayFillAChunkThatIsNotAligned) {
  const std::vector<MemoryBlock> blocks = {{0, 1, 1001}, {0, 1, 1001}, {0, 1, 900}, {0, 1, 60}};
  const MemoryLimits limits{.alignment = 64, .max_chunk_bytes = 1001};
  const MemoryPlan plan = plan_memory(blocks, limits).value();
  EXPECT_EQ(check_memory_plan(blocks, limits, plan), "");
  EXPECT_EQ(plan.chunk_bytes.size(), 3u);
}

TEST(MemoryPlanner, ABlockLargerThanTheLargestBufferIsNamed) {
  const std::vector<MemoryBlock> blocks = {{0, 0, 10}, {0, 0, 5000}};
  const Result<MemoryPlan> plan = plan_memory(blocks, {.max_chunk_bytes = 4096});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::resource_exhausted);
  EXPECT_EQ(plan.status().id(), "memory.block-too-large");
  EXPECT_NE(plan.status().message().find("5000"), std::string::npos);
}

TEST(MemoryPlanner, ABlockThatEndsBeforeItBeginsIsAnError) {
  const std::vector<MemoryBlock> blocks = {{3, 2, 8}};
  EXPECT_EQ(plan_memory(blocks, {}).status().code(), Code::invalid_argument);
}

TEST(MemoryPlanner, SizesThatOverflowAreAnError) {
  const std::vector<MemoryBlock> blocks = {{0, 0, UINT64_MAX - 2}};
  EXPECT_EQ(plan_memory(blocks, {}).status().code(), Code::invalid_argument);
  const std::vector<MemoryBlock> two = {{0, 0, UINT64_MAX / 4}, {1, 1, UINT64_MAX / 4 + 100}};
  EXPECT_EQ(plan_memory(two, {.alignment = 1}).status().code(), Code::invalid_argument);
  const std::vector<MemoryBlock> large = {{0, UINT32_MAX, uint64_t{1} << 61}, {5, UINT32_MAX, uint64_t{1} << 61}};
  EXPECT_EQ(plan_memory(large, {}).value().peak_bytes, uint64_t{1} << 62);
}

}  // namespace
}  // namespace backplane
