// Blocks of high-bandwidth memory: where they lie, limits, and many threads.

#include "hbw_memory.hpp"

#include <gtest/gtest.h>
#include <hbwmalloc.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "backplane/sdk/error.hpp"

namespace backplane_cpu_hbm::testing {
namespace {

bp_code code_of(backplane_cpu::Memory& memory, uint64_t bytes, std::string& text) {
  try {
    memory.release(memory.allocate(bytes, 64), bytes, 64);
    return BP_OK;
  } catch (const backplane::sdk::Error& error) {
    text = error.what();
    return error.code();
  }
}

TEST(HbwMemory, BlocksLieOnTheNodeAndAreAligned) {
  HbwMemory memory({});
  EXPECT_EQ(memory.nodes(), NodeSet{0});
  for (const uint64_t alignment : {uint64_t{8}, uint64_t{64}, uint64_t{4096}, uint64_t{2} << 20})
    for (const uint64_t bytes : {uint64_t{1}, uint64_t{4097}, uint64_t{3} << 20}) {
      std::byte* const block = memory.allocate(bytes, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      // Without HBW_TOUCH_PAGES: the pages are there already.
      EXPECT_EQ(hbw_verify_memory_region(block, bytes, 0), 0) << bytes << " bytes";
      std::memset(block, 0xAB, bytes);
      EXPECT_EQ(memory.used_bytes(), bytes);
      memory.release(block, bytes, alignment);
    }
  EXPECT_EQ(memory.allocate(0, 64), nullptr);
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(memory.peak_bytes(), uint64_t{3} << 20);
}

TEST(HbwMemory, OrdinaryMemoryIsNotTakenForIt) {
  int local = 0;
  EXPECT_NE(hbw_verify_memory_region(nullptr, 1, 0), 0);
  EXPECT_EQ(hbw_verify_memory_region(&local, 0, 0), EINVAL);
}

TEST(HbwMemory, WhatTheNodesDoNotHaveIsRefused) {
  HbwMemory memory({});
  const backplane_cpu::MemoryFigures figures = memory.figures();
  ASSERT_GT(figures.free_bytes, 0u);
  std::string text;
  // Also what the system as a whole would grant, and what no system has.
  for (const uint64_t bytes : {figures.total_bytes + 1, uint64_t{1} << 46, UINT64_MAX - 64}) {
    EXPECT_EQ(code_of(memory, bytes, text), BP_E_DEVICE_MEMORY) << bytes;
    EXPECT_NE(text.find("high-bandwidth memory"), std::string::npos) << text;
  }
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_EQ(memory.peak_bytes(), 0u);
  EXPECT_EQ(code_of(memory, 1000, text), BP_OK) << text;
}

TEST(HbwMemory, TheLimitIsExact) {
  HbwMemory memory({Policy::bind, "", 1000});
  std::string text;
  EXPECT_EQ(code_of(memory, 1001, text), BP_E_DEVICE_MEMORY);
  EXPECT_NE(text.find("the limit is 1000"), std::string::npos) << text;
  EXPECT_EQ(memory.figures().total_bytes, 1000u);
  EXPECT_EQ(memory.figures().free_bytes, 1000u);
  std::byte* const block = memory.allocate(600, 64);
  EXPECT_EQ(memory.figures().free_bytes, 400u);
  EXPECT_EQ(code_of(memory, 401, text), BP_E_DEVICE_MEMORY);
  EXPECT_EQ(code_of(memory, 400, text), BP_OK) << text;
  memory.release(block, 600, 64);
  EXPECT_EQ(code_of(memory, 1000, text), BP_OK) << text;
}

TEST(HbwMemory, ThreadsThatOpenItTogetherAllHaveIt) {
  char** const before = environ;
  const HbwMemory first({});
  std::atomic<int> opened{0}, refused{0};
  const auto work = [&] {
    for (int i = 0; i < 10; ++i) {
      opened += HbwMemory({Policy::bind, "0", 0}).nodes() == NodeSet{0} ? 1 : 0;
      try {
        HbwMemory({Policy::interleave, "0", 0});
      } catch (const backplane::sdk::Error& error) {
        refused += error.code() == BP_E_STATE ? 1 : 0;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 80);
  EXPECT_EQ(refused, 80);
  EXPECT_EQ(environ, before);
}

TEST(HbwMemory, ManyThreadsTakeAndGiveBack) {
  constexpr uint64_t kLimit = 512 << 10;  // less than one thread alone would hold
  HbwMemory memory({Policy::bind, "", kLimit});
  std::atomic<uint32_t> made{0}, refused{0}, wrong{0};
  const auto work = [&](unsigned seed) {
    std::vector<std::pair<std::byte*, uint64_t>> blocks;
    for (int i = 0; i < 200; ++i) {
      const uint64_t bytes = 1 + (seed = seed * 1103515245 + 12345) % (256 << 10);
      try {
        std::byte* const block = memory.allocate(bytes, 64);
        std::memset(block, static_cast<int>(bytes & 0xFF), bytes);
        blocks.emplace_back(block, bytes);
        ++made;
      } catch (const backplane::sdk::Error& error) {
        ++(error.code() == BP_E_DEVICE_MEMORY ? refused : wrong);
      }
      if (memory.used_bytes() > kLimit) ++wrong;
      if (blocks.size() < 6) continue;
      const auto [block, size] = blocks.front();
      blocks.erase(blocks.begin());
      if (block[size - 1] != static_cast<std::byte>(size & 0xFF)) ++wrong;
      memory.release(block, size, 64);
    }
    for (const auto& [block, size] : blocks) memory.release(block, size, 64);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(made, 0u);
  EXPECT_GT(refused, 0u) << "the limit was never met: the test shows nothing";
  EXPECT_EQ(memory.used_bytes(), 0u);
  EXPECT_LE(memory.peak_bytes(), kLimit);
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
