#include "backplane/runtime/multi_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_runtime.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

TEST(MultiBuffer, IsOneChunkWhereTheDeviceHasNoLimit) {
  FakeRuntime runtime("{}");
  MultiBuffer memory = MultiBuffer::allocate(*runtime.devices()[0], 0, 1000, BP_USAGE_WEIGHTS).value();
  ASSERT_EQ(memory.chunks().size(), 1u);
  EXPECT_EQ(memory.chunks()[0].bytes(), 1000u);
  EXPECT_EQ(memory.bytes(), 1000u);
}

// Chunks of 100 bytes at most hold 64, so that each starts aligned.
TEST(MultiBuffer, SplitsAtTheLimitAndKeepsItsUsage) {
  FakeRuntime runtime(R"({"max_buffer_bytes": 100})");
  MultiBuffer memory = MultiBuffer::allocate(*runtime.devices()[0], 0, 200, BP_USAGE_STAGING).value();
  EXPECT_EQ(memory.chunk_bytes(), 64u);
  ASSERT_EQ(memory.chunks().size(), 4u);
  EXPECT_EQ(memory.chunks()[3].bytes(), 8u);
  EXPECT_EQ(memory.usage(), BP_USAGE_STAGING);
  for (const Buffer& chunk : memory.chunks()) EXPECT_EQ(chunk.usage(), BP_USAGE_STAGING);
}

TEST(MultiBuffer, WritesReadsAndFillsAcrossChunks) {
  FakeRuntime runtime(R"({"max_buffer_bytes": 64})");
  MultiBuffer memory = MultiBuffer::allocate(*runtime.devices()[0], 0, 300, BP_USAGE_COMPUTE).value();
  std::vector<std::byte> source(300), found(300);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 64);
  ASSERT_TRUE(memory.write(0, source).ok());
  ASSERT_TRUE(memory.fill(63, 130, 5).ok());
  std::fill_n(source.begin() + 63, 130, std::byte{5});
  ASSERT_TRUE(memory.read(0, found).ok());
  EXPECT_EQ(found, source);
  ASSERT_TRUE(memory.write(190, std::span(source).first(70)).ok());
  std::copy_n(std::vector(source.begin(), source.begin() + 70).begin(), 70, source.begin() + 190);
  ASSERT_TRUE(memory.read(0, found).ok());
  EXPECT_EQ(found, source);
}

TEST(MultiBuffer, ChecksRangesWithOverflow) {
  FakeRuntime runtime(R"({"max_buffer_bytes": 64})");
  MultiBuffer memory = MultiBuffer::allocate(*runtime.devices()[0], 0, 100, BP_USAGE_COMPUTE).value();
  std::vector<std::byte> bytes(16);
  for (const uint64_t offset : {UINT64_MAX - 7, uint64_t{85}, uint64_t{101}}) {
    EXPECT_EQ(memory.write(offset, bytes).code(), Code::out_of_range) << offset;
    EXPECT_EQ(memory.read(offset, bytes).code(), Code::out_of_range) << offset;
    EXPECT_EQ(memory.place(offset, 16).status().code(), Code::out_of_range) << offset;
  }
  EXPECT_EQ(memory.fill(1, UINT64_MAX, 0).code(), Code::out_of_range);
  EXPECT_TRUE(memory.fill(100, 0, 0).ok());
  EXPECT_EQ(MultiBuffer().fill(0, 0, 0).code(), Code::failed_precondition);
  MultiBuffer kept = std::move(memory);
  EXPECT_EQ(memory.fill(0, 0, 0).code(), Code::failed_precondition);  // NOLINT(bugprone-use-after-move): tested
}

TEST(MultiBuffer, PlacesWithinOneChunk) {
  FakeRuntime runtime(R"({"max_buffer_bytes": 64})");
  MultiBuffer memory = MultiBuffer::allocate(*runtime.devices()[0], 0, 128, BP_USAGE_COMPUTE).value();
  const MultiBuffer::Place place = memory.place(72, 56).value();
  EXPECT_EQ(place.buffer, &memory.chunks()[1]);
  EXPECT_EQ(place.offset, 8u);
  EXPECT_EQ(memory.place(60, 8).status().code(), Code::out_of_range) << "crosses a border";
  EXPECT_EQ(memory.place(128, 0).value().offset, 64u);
  const Buffer* const first = &memory.chunks()[0];
  MultiBuffer moved = std::move(memory);
  EXPECT_EQ(moved.place(0, 64).value().buffer, first) << "moving leaves the chunks where they are";
}

TEST(MultiBuffer, GivesEverythingBackWhenMemoryIsShort) {
  FakeRuntime runtime(R"({"max_buffer_bytes": 64, "memory_limit_bytes": 150})");
  Device& device = *runtime.devices()[0];
  EXPECT_EQ(MultiBuffer::allocate(device, 0, 200, BP_USAGE_COMPUTE).status().code(), Code::resource_exhausted);
  EXPECT_EQ(device.memory().value().used.value(), 0u);
  EXPECT_TRUE(MultiBuffer::allocate(device, 0, 150, BP_USAGE_COMPUTE).ok());
  EXPECT_EQ(MultiBuffer::allocate(device, 9, 8, 0).status().code(), Code::invalid_argument);
  EXPECT_EQ(MultiBuffer::allocate(device, 0, 0, 0).value().chunks().size(), 1u) << "no bytes are legal";
}

}  // namespace
}  // namespace backplane
