#include "scheduler/memory/branch_and_bound.hpp"

#include <gtest/gtest.h>

#include <random>

#include "optimal_peak.hpp"
#include "scheduler/memory/fit_orders.hpp"

namespace backplane {
namespace {

std::vector<MemoryBlock> random_blocks(uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::vector<MemoryBlock> blocks;
  const size_t count = seed % 40 == 0 ? 8 : 1 + rng() % 6;
  for (size_t i = 0; i < count; ++i) {
    const auto first = static_cast<uint32_t>(rng() % 5);
    blocks.push_back({first, first + static_cast<uint32_t>(rng() % 4), 1 + rng() % 9});
  }
  return blocks;
}

Arrangement search(const std::vector<MemoryBlock>& blocks, uint64_t capacity, uint64_t work_limit = UINT64_MAX) {
  const LiveBytes live = LiveBytes::make(blocks, 1).value();
  WorkBudget work(work_limit);
  return search_within(live, capacity, make_fit_order(live, FitOrder::area), work);
}

TEST(BranchAndBound, FindsTheOptimumAndNothingBelowIt) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const std::vector<MemoryBlock> blocks = random_blocks(seed);
    const uint64_t optimum = testing::optimal_peak(blocks);
    ASSERT_EQ(search(blocks, optimum).peak, optimum) << "seed " << seed;
    ASSERT_EQ(search(blocks, optimum - 1).peak, UINT64_MAX) << "seed " << seed;
  }
}

TEST(BranchAndBound, EndsWhenTheWorkIsSpent) {
  EXPECT_EQ(search(random_blocks(10), 1000, 3).peak, UINT64_MAX);
  EXPECT_NE(search(random_blocks(10), 1000).peak, UINT64_MAX);
}

TEST(BranchAndBound, NoBlocksFitAnywhere) { EXPECT_EQ(search({}, 0).peak, 0u); }

}  // namespace
}  // namespace backplane
