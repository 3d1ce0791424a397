#include "compare.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace backplane::cli {
namespace {

constexpr float kNan = NAN, kInf = INFINITY;

Comparison compare(std::vector<float> got, std::vector<float> expected, Tolerance tolerance = {}) {
  const auto tensor = [](const std::vector<float>& values) {
    return HostTensor::of<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
  };
  return compare_tensors("y", tensor(got), tensor(expected), tolerance);
}

TEST(Compare, AddsAbsoluteAndRelativeTolerance) {
  EXPECT_TRUE(compare({100.09f, 0.00009f}, {100, 0}).fits());
  EXPECT_FALSE(compare({100.2f}, {100}).fits());
  EXPECT_FALSE(compare({0.0002f}, {0}).fits());
  EXPECT_TRUE(compare({1}, {1}, {0, 0}).fits());
}

TEST(Compare, NanFitsNanOnly) {
  EXPECT_TRUE(compare({kNan, 1}, {kNan, 1}).fits());
  EXPECT_FALSE(compare({kNan}, {1}).fits());
  EXPECT_FALSE(compare({1}, {kNan}).fits());
  EXPECT_TRUE(std::isinf(compare({1}, {kNan}).max_absolute));
}

TEST(Compare, InfinityFitsItselfOnly) {
  EXPECT_TRUE(compare({kInf, -kInf}, {kInf, -kInf}).fits());
  EXPECT_FALSE(compare({kInf}, {-kInf}).fits());
  EXPECT_FALSE(compare({3e38f}, {kInf}).fits());
  EXPECT_FALSE(compare({kInf}, {kNan}).fits());
}

TEST(Compare, NamesTheWorstElement) {
  const Comparison found = compare({1, 2.5f, 3.1f, 4}, {1, 2, 3, 4});
  EXPECT_EQ(found.mismatches, 2);
  EXPECT_EQ(found.worst_index, "[1]");
  EXPECT_FLOAT_EQ(static_cast<float>(found.got), 2.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(found.max_absolute), 0.5f);
  EXPECT_FLOAT_EQ(static_cast<float>(found.max_relative), 0.25f);
  EXPECT_NE(found.to_string().find("DIFFERS, 2 of 4 elements"), std::string::npos) << found.to_string();
  EXPECT_EQ(compare({9, kNan, 3}, {1, 2, 3}).worst_index, "[1]") << "a NaN is worse than any number";
}

TEST(Compare, AnotherTypeOrShapeIsAFault) {
  const HostTensor floats = HostTensor::zeros(DType::kF32, {2}).value();
  EXPECT_FALSE(compare_tensors("y", floats, HostTensor::zeros(DType::kF64, {2}).value(), {}).fits());
  EXPECT_FALSE(compare_tensors("y", floats, HostTensor::zeros(DType::kF32, {2, 1}).value(), {}).fits());
  EXPECT_TRUE(compare_tensors("y", HostTensor::zeros(DType::kBF16, {2}).value(), floats, {}).fits());
}

TEST(Compare, NothingToCompareIsAnError) {
  EXPECT_EQ(compare_with_folder({}, {}, BACKPLANE_TEST_DATA, {}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace backplane::cli
