#include "tensor_elements.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backplane/graph/element.hpp"

namespace backplane::cli {
namespace {

HostTensor half(uint16_t bits) { return HostTensor::of<uint16_t>(DType::kF16, {1}, std::vector<uint16_t>{bits}); }

Status set(DType dtype, const Json& value, long double* stored = nullptr) {
  HostTensor tensor = HostTensor::zeros(dtype, {1}).value();
  Status status = set_element(tensor, 0, value);
  if (stored != nullptr) *stored = element(tensor, 0);
  return status;
}

TEST(TensorElements, EveryHalfSurvivesWritingAndReading) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const HostTensor original = half(static_cast<uint16_t>(bits));
    const auto value = static_cast<double>(element(original, 0));
    if (std::isnan(value)) continue;
    HostTensor copy = half(0);
    ASSERT_TRUE(set_element(copy, 0, Json::number(value)).ok());
    ASSERT_EQ(*copy.data<uint16_t>(), bits) << value;
  }
}

TEST(TensorElements, RoundsHalfTiesToEven) {
  long double stored = 0;
  ASSERT_TRUE(set(DType::kF16, Json::number(2049), &stored).ok());
  EXPECT_EQ(stored, 2048);
  ASSERT_TRUE(set(DType::kF16, Json::number(2051), &stored).ok());
  EXPECT_EQ(stored, 2052);
  ASSERT_TRUE(set(DType::kF16, Json::number(65519), &stored).ok());
  EXPECT_EQ(stored, 65504);
  ASSERT_TRUE(set(DType::kF16, Json::number(65520), &stored).ok());
  EXPECT_TRUE(std::isinf(stored));
}

TEST(TensorElements, KeepsLargeIntegersExact) {
  long double stored = 0;
  ASSERT_TRUE(set(DType::kI64, Json::integer(std::numeric_limits<int64_t>::max()), &stored).ok());
  EXPECT_EQ(stored, static_cast<long double>(std::numeric_limits<int64_t>::max()));
  EXPECT_NE(stored, stored - 1);
}

TEST(TensorElements, RefusesWhatATypeCannotHold) {
  EXPECT_TRUE(set(DType::kI8, Json::integer(-128)).ok());
  EXPECT_FALSE(set(DType::kI8, Json::integer(128)).ok());
  EXPECT_FALSE(set(DType::kU8, Json::integer(-1)).ok());
  EXPECT_FALSE(set(DType::kU64, Json::integer(-1)).ok());
  EXPECT_FALSE(set(DType::kI64, Json::number(0.5)).ok());
  EXPECT_FALSE(set(DType::kF32, Json::text("1")).ok());
  EXPECT_TRUE(set(DType::kBOOL, Json::boolean(true)).ok());
  EXPECT_FALSE(set(DType::kBOOL, Json::integer(2)).ok());
}

}  // namespace
}  // namespace backplane::cli
