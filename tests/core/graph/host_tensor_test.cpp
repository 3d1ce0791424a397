#include "backplane/graph/host_tensor.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace backplane {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

TEST(HostTensor, ZerosAreZeroAndAligned) {
  auto tensor = HostTensor::zeros(DType::kF32, {2, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->elements(), 6);
  EXPECT_EQ(tensor->bytes().size(), 24u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data<float>()) % 64, 0u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(tensor->data<float>()[i], 0.0f);
  EXPECT_EQ(tensor->to_string(), "f32 [2, 3]");
}

TEST(HostTensor, NullAndEmptyAreNotTheSame) {
  EXPECT_TRUE(HostTensor().is_null());
  auto empty = HostTensor::zeros(DType::kI64, {0, 4});
  ASSERT_TRUE(empty.ok());
  EXPECT_FALSE(empty->is_null());
  EXPECT_EQ(empty->elements(), 0);
  EXPECT_EQ(empty->bytes().size(), 0u);
}

TEST(HostTensor, CopiesShareBytes) {
  const int32_t values[] = {1, 2, 3};
  const HostTensor a = HostTensor::of<int32_t>(DType::kI32, {3}, values);
  const HostTensor b = a;
  EXPECT_EQ(a.data<int32_t>(), b.data<int32_t>());
  EXPECT_EQ(b.data<int32_t>()[2], 3);
}

TEST(HostTensor, BorrowKeepsTheKeeper) {
  auto keeper = std::make_shared<std::vector<std::byte>>(8);
  std::weak_ptr<std::vector<std::byte>> watch = keeper;
  auto tensor = HostTensor::borrow(DType::kF32, {2}, *keeper, keeper);
  ASSERT_TRUE(tensor.ok());
  keeper.reset();
  EXPECT_FALSE(watch.expired());
  *tensor = HostTensor();
  EXPECT_TRUE(watch.expired());
}

TEST(HostTensor, BorrowRefusesAnotherSize) {
  const std::vector<std::byte> bytes(7);
  const auto tensor = HostTensor::borrow(DType::kF32, {2}, bytes, nullptr);
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.status().code(), Code::invalid_argument);
  EXPECT_NE(tensor.status().message().find("8 bytes"), std::string::npos);
}

TEST(HostTensor, RefusesShapesThatOverflow) {
  EXPECT_EQ(HostTensor::zeros(DType::kF32, {-1}).status().code(), Code::invalid_argument);
  EXPECT_EQ(HostTensor::zeros(DType::kF32, {kHuge, kHuge}).status().code(), Code::invalid_argument);
  EXPECT_FALSE(element_count(std::vector<int64_t>{0, kHuge, kHuge}).ok());
  EXPECT_FALSE(dense_bytes(DType::kF64, std::vector<int64_t>{kHuge, int64_t{1} << 21}).ok());
  EXPECT_TRUE(element_count(std::vector<int64_t>{kHuge, int64_t{1} << 21}).ok());
}

TEST(HostTensor, ScalarHasOneElement) {
  EXPECT_EQ(element_count({}).value(), 1);
  EXPECT_EQ(dense_bytes(DType::kF16, {}).value(), 2u);
  EXPECT_TRUE(dense_strides(DType::kF16, {}).empty());
}

TEST(HostTensor, QuantisedSizesCountBlocks) {
  const std::vector<int64_t> shape = {3, 64};
  EXPECT_EQ(dense_bytes(DType::kQ8_0, shape).value(), 3u * 2 * 34);
  EXPECT_EQ(dense_strides(DType::kQ8_0, shape), (std::vector<int64_t>{68, 34}));
  EXPECT_FALSE(dense_bytes(DType::kQ8_0, std::vector<int64_t>{64, 3}).ok());
  EXPECT_FALSE(dense_bytes(DType::kQ8_0, {}).ok());
}

TEST(HostTensor, StridesOfZeroSizeAreThoseWithoutTheZero) {
  EXPECT_EQ(dense_strides(DType::kF32, std::vector<int64_t>{2, 0, 3}), (std::vector<int64_t>{12, 12, 4}));
}

}  // namespace
}  // namespace backplane
