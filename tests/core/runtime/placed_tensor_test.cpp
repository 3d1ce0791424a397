#include "backplane/runtime/placed_tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "fake_runtime.hpp"

namespace backplane {
namespace {

constexpr uint64_t kMinus8 = UINT64_MAX - 7;

std::vector<std::byte> ramp(size_t count, int first = 0) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return bytes;
}

HostTensor integers(std::vector<int64_t> shape) {
  HostTensor tensor = HostTensor::zeros(DType::kI32, std::move(shape)).value();
  std::iota(tensor.mutable_data<int32_t>(), tensor.mutable_data<int32_t>() + tensor.elements(), 0);
  return tensor;
}

std::vector<int32_t> values(const HostTensor& tensor) {
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.elements()};
}

class PlacedTensorTest : public ::testing::TestWithParam<const char*> {
 protected:
  Device& device() { return *runtime_.devices()[0]; }
  // A tensor of 4 x 6 i32 behind 64 bytes of 0xEE, with 64 more after it.
  PlacedTensor make() {
    buffer_ = device().allocate(0, 64 + 96 + 64, BP_USAGE_COMPUTE).value();
    EXPECT_TRUE(buffer_.fill(0, buffer_.bytes(), 0xEE).ok());
    return PlacedTensor::place(buffer_, 64, DType::kI32, {4, 6}).value();
  }
  // Whether the bytes before and after the tensor are as they were.
  bool untouched() {
    std::vector<std::byte> all(buffer_.bytes());
    if (!buffer_.read(0, all).ok()) return false;
    const auto same = [](std::byte b) { return b == std::byte{0xEE}; };
    return std::all_of(all.begin(), all.begin() + 64, same) && std::all_of(all.end() - 64, all.end(), same);
  }

  testing::FakeRuntime runtime_{GetParam()};
  Buffer buffer_;
};

INSTANTIATE_TEST_SUITE_P(Memory, PlacedTensorTest, ::testing::Values(R"({"memory": "own"})", R"({"memory": "host"})"),
                         [](const auto& memory) { return memory.index == 0 ? "own" : "host"; });

TEST_P(PlacedTensorTest, SetsGetsAndFillsRanges) {
  PlacedTensor tensor = make();
  ASSERT_TRUE(tensor.fill(0, 96, 7).ok());
  ASSERT_TRUE(tensor.set(90, ramp(6, 1)).ok());
  std::vector<std::byte> found(8);
  ASSERT_TRUE(tensor.get(88, found).ok());
  EXPECT_EQ(found, (std::vector<std::byte>{std::byte{7}, std::byte{7}, std::byte{1}, std::byte{2}, std::byte{3},
                                           std::byte{4}, std::byte{5}, std::byte{6}}));
  EXPECT_TRUE(tensor.set(96, {}).ok());
  EXPECT_TRUE(untouched());
}

// W18: an offset near 2^64 must not wrap around to memory before the tensor.
TEST_P(PlacedTensorTest, RefusesRangesThatOverflow) {
  PlacedTensor tensor = make();
  std::vector<std::byte> bytes(16);
  for (const uint64_t offset : {kMinus8, uint64_t{81}, uint64_t{97}, UINT64_MAX, UINT64_MAX - 15}) {
    EXPECT_EQ(tensor.set(offset, bytes).code(), Code::out_of_range) << offset;
    EXPECT_EQ(tensor.get(offset, bytes).code(), Code::out_of_range) << offset;
    EXPECT_EQ(tensor.fill(offset, 16, 0).code(), Code::out_of_range) << offset;
    EXPECT_EQ(tensor.set_rows({offset, 4, 4, 4}, bytes, 4).code(), Code::out_of_range) << offset;
  }
  EXPECT_EQ(tensor.fill(8, kMinus8, 0).code(), Code::out_of_range);
  EXPECT_TRUE(untouched());
}

TEST_P(PlacedTensorTest, SetsAndGetsRows) {
  PlacedTensor tensor = make();
  ASSERT_TRUE(tensor.fill(0, 96, 0).ok());
  const std::vector<std::byte> source = ramp(12, 1);  // 3 rows of 2 bytes, 4 apart; the gaps are not taken
  ASSERT_TRUE(tensor.set_rows({24, 2, 3, 24}, source, 4).ok());
  std::vector<std::byte> all(96);
  ASSERT_TRUE(tensor.get(0, all).ok());
  for (size_t i = 0; i < 96; ++i) {
    const size_t row = i / 24, column = i % 24;
    const int wanted = row >= 1 && column < 2 ? static_cast<int>(4 * (row - 1) + column + 1) : 0;
    EXPECT_EQ(std::to_integer<int>(all[i]), wanted) << i;
  }
  std::vector<std::byte> found(6);
  ASSERT_TRUE(tensor.get_rows({24, 2, 3, 24}, found, 2).ok());
  EXPECT_EQ(found, (std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{5}, std::byte{6}, std::byte{9},
                                           std::byte{10}}));
  ASSERT_TRUE(tensor.get_rows({24, 2, 3, 2}, found, 2).ok()) << "flat on both sides";
  EXPECT_EQ(found[2], std::byte{0});
  EXPECT_TRUE(untouched());
}

TEST_P(PlacedTensorTest, RefusesRowsThatDoNotFit) {
  PlacedTensor tensor = make();
  std::vector<std::byte> host(16);
  EXPECT_EQ(tensor.set_rows({0, 4, 5, 24}, ramp(20), 4).code(), Code::out_of_range) << "the fifth row";
  EXPECT_EQ(tensor.set_rows({0, 4, 5, 8}, host, 4).code(), Code::out_of_range) << "host memory is short";
  EXPECT_EQ(tensor.set_rows({0, 4, UINT64_MAX, UINT64_MAX}, host, 4).code(), Code::out_of_range);
  EXPECT_EQ(tensor.set_rows({0, 4, 2, 8}, host, UINT64_MAX).code(), Code::out_of_range);
  EXPECT_EQ(tensor.set_rows({0, 4, 2, 3}, host, 4).code(), Code::invalid_argument) << "rows overlap in the tensor";
  EXPECT_EQ(tensor.get_rows({0, 4, 2, 8}, host, 3).code(), Code::invalid_argument) << "rows overlap on the host";
  EXPECT_TRUE(tensor.set_rows({96, 0, UINT64_MAX, 0}, {}, 0).ok()) << "nothing, often";
  EXPECT_TRUE(tensor.set_rows({0, 16, 1, 0}, host, 0).ok()) << "one row has no pitch";
  EXPECT_TRUE(untouched());
}

TEST_P(PlacedTensorTest, ReadsAndWritesViewsByValue) {
  PlacedTensor tensor = make();
  ASSERT_TRUE(tensor.write(integers({4, 6})).ok());
  PlacedTensor turned = tensor.view(4, {3, 2}, {8, 24}).value();  // columns 1, 3, 5 of rows 0 and 1
  EXPECT_EQ(values(turned.read().value()), (std::vector<int32_t>{1, 7, 3, 9, 5, 11}));
  ASSERT_TRUE(turned.write(HostTensor::of<int32_t>(DType::kI32, {3, 2}, std::vector<int32_t>(6, -1))).ok());
  EXPECT_EQ(values(tensor.view(0, {2, 6}, {24, 4}).value().read().value()),
            (std::vector<int32_t>{0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10, -1}));
  const PlacedTensor repeated = tensor.view(0, {3, 2}, {0, 4}).value();
  EXPECT_EQ(values(repeated.read().value()), (std::vector<int32_t>{0, -1, 0, -1, 0, -1}));
  EXPECT_EQ(PlacedTensor(repeated).write(integers({3, 2})).code(), Code::invalid_argument);
  EXPECT_EQ(tensor.write(integers({6, 4})).code(), Code::invalid_argument) << "another shape";
  EXPECT_EQ(tensor.write(HostTensor()).code(), Code::invalid_argument);
  EXPECT_TRUE(untouched());
}

TEST_P(PlacedTensorTest, ViewsStayWithinTheirTensor) {
  const PlacedTensor tensor = make();
  EXPECT_TRUE(tensor.view(72, {6}, {4}).ok());
  EXPECT_EQ(tensor.view(76, {6}, {4}).status().code(), Code::out_of_range);
  EXPECT_EQ(tensor.view(kMinus8, {2}, {4}).status().code(), Code::out_of_range);
  EXPECT_EQ(tensor.view(0, {int64_t{1} << 40, 2}, {INT64_MAX, 4}).status().code(), Code::out_of_range);
  EXPECT_EQ(tensor.view(0, {2}, {-4}).status().code(), Code::invalid_argument);
  EXPECT_EQ(tensor.view(0, {2}, {}).status().code(), Code::invalid_argument);
  EXPECT_EQ(tensor.view(0, {-1}, {4}).status().code(), Code::invalid_argument);
  const PlacedTensor inner = tensor.view(24, {6}, {4}).value();
  EXPECT_EQ(inner.offset(), 88u);
  EXPECT_EQ(inner.view(4, {6}, {4}).status().code(), Code::out_of_range) << "a view of a view is bound by the view";
  EXPECT_TRUE(tensor.view(96, {0, 5}, {4, 4}).ok()) << "nothing, at the end";
}

TEST_P(PlacedTensorTest, ChecksWhereItIsPlaced) {
  Buffer buffer = device().allocate(0, 256, BP_USAGE_COMPUTE).value();
  const auto place = [&](uint64_t offset, std::vector<int64_t> shape) {
    return PlacedTensor::place(buffer, offset, DType::kI32, std::move(shape)).status().code();
  };
  EXPECT_EQ(place(192, {16}), Code::ok);
  EXPECT_EQ(place(192, {17}), Code::out_of_range);
  EXPECT_EQ(place(256, {1}), Code::out_of_range);
  EXPECT_EQ(place(256, {0}), Code::ok);
  EXPECT_EQ(place(UINT64_MAX - 63, {16}), Code::out_of_range);
  EXPECT_EQ(place(32, {1}), Code::invalid_argument) << "misaligned";
  EXPECT_EQ(place(0, {-1}), Code::invalid_argument);
  EXPECT_EQ(place(0, {INT64_MAX, 2}), Code::invalid_argument);
  Buffer empty;
  EXPECT_EQ(PlacedTensor::place(empty, 0, DType::kI32, {1}).status().code(), Code::failed_precondition);
  EXPECT_EQ(PlacedTensor::bytes_needed(device(), 7, DType::kI32, {}).status().code(), Code::invalid_argument);
}

TEST_P(PlacedTensorTest, IsPlacedAtAnAddressOfHostMemory) {
  Buffer buffer = device().allocate(0, 256, BP_USAGE_COMPUTE).value();
  if (!device().memory_types()[0].host_visible()) {
    EXPECT_EQ(PlacedTensor::place_at(buffer, &buffer, DType::kI32, {1}).status().code(), Code::unimplemented);
    return;
  }
  std::byte* const base = buffer.map(0, 256, BP_MAP_READ).value();
  ASSERT_TRUE(buffer.unmap().ok());
  EXPECT_EQ(PlacedTensor::place_at(buffer, base + 64, DType::kI32, {3}).value().offset(), 64u);
  EXPECT_EQ(PlacedTensor::place_at(buffer, base + 60, DType::kI32, {3}).status().code(), Code::invalid_argument);
  EXPECT_EQ(PlacedTensor::place_at(buffer, base + 192, DType::kI32, {17}).status().code(), Code::out_of_range);
  EXPECT_EQ(PlacedTensor::place_at(buffer, base - 64, DType::kI32, {3}).status().code(), Code::out_of_range);
  EXPECT_EQ(PlacedTensor::place_at(buffer, base + 320, DType::kI32, {3}).status().code(), Code::out_of_range);
}

}  // namespace
}  // namespace backplane
