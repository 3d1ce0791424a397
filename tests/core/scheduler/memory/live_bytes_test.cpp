#include "scheduler/memory/live_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace backplane {
namespace {

uint64_t live_at(const std::vector<MemoryBlock>& blocks, uint32_t step) {
  uint64_t live = 0;
  for (const MemoryBlock& block : blocks)
    if (block.first <= step && step <= block.last) live += block.bytes;
  return live;
}

TEST(LiveBytes, AgreesWithASumOverEachStep) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 rng(seed);
    const uint32_t stretch = seed % 2 == 0 ? 1 : 1'000'000;  // few steps for each block, and many
    std::vector<MemoryBlock> blocks;
    for (int i = 0; i < 30; ++i) {
      const auto first = static_cast<uint32_t>(rng() % 40);
      blocks.push_back({first * stretch, (first + static_cast<uint32_t>(rng() % 10)) * stretch, rng() % 4 * 100});
    }
    const LiveBytes live = LiveBytes::make(blocks, 1).value();
    const std::vector<uint64_t> most = live.most_by_block();
    uint64_t pairs = 0, most_of_all = 0;
    for (uint32_t i = 0; i < live.size(); ++i) {
      const MemoryBlock& block = blocks[live.blocks()[i].original];
      uint64_t expected = 0;
      for (uint32_t step = block.first; step <= block.last; step += stretch)
        expected = std::max(expected, live_at(blocks, step));
      ASSERT_EQ(most[i], expected) << "seed " << seed;
      most_of_all = std::max(most_of_all, expected);
      for (uint32_t j = 0; j < i; ++j) {
        const MemoryBlock& other = blocks[live.blocks()[j].original];
        pairs += other.first <= block.last && block.first <= other.last ? 1 : 0;
      }
    }
    ASSERT_EQ(live.pair_count(), pairs) << "seed " << seed;
    ASSERT_EQ(live.most(), most_of_all) << "seed " << seed;
  }
}

TEST(LiveBytes, SectionsBeginWithBlocks) {
  const std::vector<MemoryBlock> blocks = {{7, 9, 10}, {2, 3, 0}, {4, 7, 20}, {8, 8, 30}};
  const LiveBytes live = LiveBytes::make(blocks, 8).value();
  EXPECT_EQ(live.section_count(), 3u);
  EXPECT_EQ(live.by_section(), (std::vector<uint64_t>{24, 40, 48}));
  EXPECT_EQ(live.most_bare(), 40u);
  EXPECT_EQ(live.blocks()[0].original, 2u);
}

}  // namespace
}  // namespace backplane
