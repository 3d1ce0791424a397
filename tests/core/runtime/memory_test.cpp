#include "backplane/runtime/memory.hpp"

#include <array>

#include "toy_runtime.hpp"

namespace backplane {
namespace {

class MemoryTest : public ToyRuntime {
 protected:
  Buffer make(uint64_t bytes) { return toy().allocate(0, bytes, BP_USAGE_COMPUTE).value(); }
};

TEST_F(MemoryTest, WritesReadsFillsAndMaps) {
  Buffer buffer = make(8);
  const std::array<std::byte, 3> source = {std::byte{1}, std::byte{2}, std::byte{3}};
  ASSERT_TRUE(buffer.fill(0, 8, 9).ok());
  ASSERT_TRUE(buffer.write(4, source).ok());
  std::array<std::byte, 5> target = {};
  ASSERT_TRUE(buffer.read(3, target).ok());
  EXPECT_EQ(target, (std::array<std::byte, 5>{std::byte{9}, std::byte{1}, std::byte{2}, std::byte{3}, std::byte{9}}));
  std::byte* address = buffer.map(4, 1, BP_MAP_READ).value();
  EXPECT_EQ(*address, std::byte{1});
  EXPECT_TRUE(buffer.unmap().ok());
}

TEST_F(MemoryTest, ChecksEveryRangeWithOverflow) {
  Buffer buffer = make(8);
  std::array<std::byte, 4> bytes = {};
  EXPECT_TRUE(buffer.read(4, bytes).ok());
  EXPECT_EQ(buffer.read(5, bytes).code(), Code::out_of_range);
  EXPECT_EQ(buffer.write(UINT64_MAX - 1, bytes).code(), Code::out_of_range);
  EXPECT_EQ(buffer.fill(1, UINT64_MAX, 0).code(), Code::out_of_range);
  EXPECT_EQ(buffer.fill(9, 0, 0).code(), Code::out_of_range);
  EXPECT_TRUE(buffer.fill(8, 0, 0).ok());
  EXPECT_EQ(buffer.map(8, 1, BP_MAP_READ).status().code(), Code::out_of_range);
}

TEST_F(MemoryTest, OwnsItsMemory) {
  const auto live = [&] { return toy().memory().value().used.value(); };
  Buffer kept;
  EXPECT_FALSE(kept);
  EXPECT_EQ(kept.fill(0, 0, 0).code(), Code::failed_precondition);
  {
    Buffer buffer = make(8);
    EXPECT_EQ(live(), 1u);
    kept = std::move(buffer);
    EXPECT_FALSE(buffer);  // NOLINT(bugprone-use-after-move): what is left is what is tested
  }
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(kept.bytes(), 8u);
  EXPECT_EQ(kept.usage(), BP_USAGE_COMPUTE);
  kept = make(4);
  EXPECT_EQ(live(), 1u);
  kept.reset();
  EXPECT_EQ(kept.usage(), 0u);
  EXPECT_EQ(live(), 0u);
}

TEST_F(MemoryTest, EmptyBuffersWork) {
  Buffer buffer = make(0);
  EXPECT_TRUE(buffer);
  EXPECT_TRUE(buffer.write(0, {}).ok());
}

}  // namespace
}  // namespace backplane
