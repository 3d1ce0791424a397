#include "scheduler/memory/memory_planner.hpp"

#include <gtest/gtest.h>

#include <random>

namespace backplane {
namespace {

// Blocks alive together are disjoint, everything is aligned and inside its chunk, and the bound is below the peak.
void expect_valid(const std::vector<MemoryBlock>& blocks, const MemoryLimits& limits, const MemoryPlan& plan) {
  uint64_t total = 0;
  for (const uint64_t bytes : plan.chunk_bytes) {
    total += bytes;
    EXPECT_TRUE(limits.max_chunk_bytes == 0 || bytes <= limits.max_chunk_bytes);
  }
  EXPECT_EQ(total, plan.peak_bytes);
  EXPECT_GE(plan.peak_bytes, plan.lower_bound_bytes);
  for (size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(plan.places[i].offset % limits.alignment, 0u) << "block " << i;
    ASSERT_LE(plan.places[i].offset + blocks[i].bytes, plan.chunk_bytes[plan.places[i].chunk]) << "block " << i;
    for (size_t j = 0; j < i; ++j) {
      const bool together = blocks[i].first <= blocks[j].last && blocks[j].first <= blocks[i].last;
      if (!together || plan.places[i].chunk != plan.places[j].chunk || blocks[i].bytes == 0 || blocks[j].bytes == 0)
        continue;
      const bool apart = plan.places[i].offset + blocks[i].bytes <= plan.places[j].offset ||
                         plan.places[j].offset + blocks[j].bytes <= plan.places[i].offset;
      ASSERT_TRUE(apart) << "blocks " << i << " and " << j << " overlap";
    }
  }
}

std::vector<MemoryBlock> random_blocks(std::mt19937_64& rng, size_t count) {
  std::vector<MemoryBlock> blocks;
  for (size_t i = 0; i < count; ++i) {
    const auto first = static_cast<uint32_t>(rng() % count);
    const uint64_t bytes = rng() % 8 == 0 ? 0 : rng() % 5000;
    blocks.push_back({first, first + static_cast<uint32_t>(rng() % 12), bytes});
  }
  return blocks;
}

TEST(MemoryPlanner, RandomBlocksAreDisjoint) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const std::vector<MemoryBlock> blocks = random_blocks(rng, 1 + rng() % 150);
    const MemoryLimits limits{uint64_t{1} << (rng() % 9), 0};
    const Result<MemoryPlan> plan = plan_memory(blocks, limits);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    EXPECT_EQ(plan->chunk_bytes.size(), 1u);
    expect_valid(blocks, limits, *plan);
  }
}

TEST(MemoryPlanner, RandomBlocksInChunks) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const std::vector<MemoryBlock> blocks = random_blocks(rng, 100);
    const MemoryLimits limits{64, 6000};
    const Result<MemoryPlan> plan = plan_memory(blocks, limits);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    expect_valid(blocks, limits, *plan);
  }
}

TEST(MemoryPlanner, ReusesMemoryOfTheDead) {
  // A chain: each block dies when the one after next begins, so two are alive at once.
  std::vector<MemoryBlock> blocks;
  for (uint32_t i = 0; i < 100; ++i) blocks.push_back({i, i + 1, 1024});
  const MemoryPlan plan = plan_memory(blocks, {64, 0}).value();
  EXPECT_EQ(plan.lower_bound_bytes, 2048u);
  EXPECT_EQ(plan.peak_bytes, 2048u);
}

TEST(MemoryPlanner, LowerBoundIsTheMostAliveAtOnce) {
  const std::vector<MemoryBlock> blocks = {{0, 4, 100}, {1, 2, 300}, {3, 4, 50}, {2, 3, 64}};
  const MemoryPlan plan = plan_memory(blocks, {1, 0}).value();
  EXPECT_EQ(plan.lower_bound_bytes, 464u);
}

TEST(MemoryPlanner, NoBlocksAndEmptyBlocks) {
  EXPECT_EQ(plan_memory({}, {64, 0}).value().peak_bytes, 0u);
  const std::vector<MemoryBlock> blocks = {{0, 0, 0}, {0, 3, 0}};
  EXPECT_EQ(plan_memory(blocks, {64, 0}).value().peak_bytes, 0u);
}

TEST(MemoryPlanner, ABlockLargerThanTheLargestBufferIsNamed) {
  const std::vector<MemoryBlock> blocks = {{0, 0, 10}, {0, 0, 5000}};
  const Result<MemoryPlan> plan = plan_memory(blocks, {64, 4096});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::resource_exhausted);
  EXPECT_EQ(plan.status().id(), "memory.block-too-large");
  EXPECT_NE(plan.status().message().find("5000"), std::string::npos);
}

TEST(MemoryPlanner, SizesThatOverflowAreAnError) {
  const std::vector<MemoryBlock> blocks = {{0, 0, UINT64_MAX - 2}};
  EXPECT_EQ(plan_memory(blocks, {64, 0}).status().code(), Code::invalid_argument);
  const std::vector<MemoryBlock> two = {{0, 0, UINT64_MAX / 2}, {1, 1, UINT64_MAX / 2 + 100}};
  EXPECT_EQ(plan_memory(two, {1, 0}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace backplane
