#include "backplane/graph/tensor_difference.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace backplane {
namespace {

constexpr float kNan = NAN, kInf = INFINITY;

TensorDifference difference(const std::vector<float>& got, const std::vector<float>& expected,
                            Tolerance tolerance = {}) {
  const auto tensor = [](const std::vector<float>& values) {
    return HostTensor::of<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
  };
  return tensor_difference(tensor(got), tensor(expected), tolerance);
}

TEST(TensorDifference, AddsAbsoluteAndRelativeTolerance) {
  EXPECT_TRUE(difference({100.09f, 0.00009f}, {100, 0}).fits());
  EXPECT_FALSE(difference({100.2f}, {100}).fits());
  EXPECT_TRUE(difference({1}, {1}, {0, 0}).fits());
}

TEST(TensorDifference, CountsAndFindsTheFirstAndTheWorst) {
  const TensorDifference found = difference({1, 2.5f, 3.1f, 9, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(found.elements, 5);
  EXPECT_EQ(found.mismatches, 3);
  EXPECT_EQ(found.first_mismatch, 1);
  EXPECT_EQ(found.worst, 3);
  EXPECT_EQ(found.got, 9);
  EXPECT_EQ(found.max_absolute, 5);
  EXPECT_EQ(found.max_relative, 1.25);
  EXPECT_EQ(difference({}, {}).worst, -1);
}

TEST(TensorDifference, NanEqualsNanOnlyAndInfinityItselfOnly) {
  EXPECT_TRUE(difference({kNan, kInf, -kInf}, {kNan, kInf, -kInf}, {0, 0}).fits());
  EXPECT_EQ(difference({kNan, 1, kInf, kInf}, {1, kNan, -kInf, kNan}).mismatches, 4);
  EXPECT_TRUE(std::isinf(difference({1}, {kNan}).max_absolute));
  EXPECT_EQ(difference({1, kNan}, {kNan, kNan}).first_mismatch, 0);
}

TEST(TensorDifference, QuantisedBlocksAreComparedByteForByte) {
  HostTensor a = HostTensor::zeros(DType::kQ8_0, {3, 32}).value(), b = HostTensor::zeros(DType::kQ8_0, {3, 32}).value();
  EXPECT_TRUE(tensor_difference(a, b, {}).fits());
  const size_t block = type_layout(DType::kQ8_0).block_bytes;
  b.mutable_bytes()[2 * block - 1] = std::byte{1};
  const TensorDifference found = tensor_difference(a, b, {1e9, 1e9});
  EXPECT_EQ(found.elements, 3);
  EXPECT_EQ(found.mismatches, 1);
  EXPECT_EQ(found.first_mismatch, 1);
  EXPECT_TRUE(std::isinf(found.max_absolute));
}

}  // namespace
}  // namespace backplane
