#include "backplane/graph/element.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace backplane {
namespace {

HostTensor half(uint16_t bits) { return HostTensor::of<uint16_t>(DType::kF16, {1}, std::vector<uint16_t>{bits}); }

TEST(Element, ReadsHalfPrecision) {
  EXPECT_EQ(element(half(0x3c00), 0), 1);
  EXPECT_EQ(element(half(0xc100), 0), -2.5L);
  EXPECT_EQ(element(half(0x0001), 0), 0x1p-24L);
  EXPECT_EQ(element(half(0x7bff), 0), 65504);
  EXPECT_TRUE(std::isinf(element(half(0x7c00), 0)));
  EXPECT_TRUE(std::isnan(element(half(0x7e00), 0)));
}

TEST(Element, NamesPositions) {
  EXPECT_EQ(index_text(HostTensor::zeros(DType::kF32, {2, 3, 4}).value(), 23), "[1, 2, 3]");
  EXPECT_EQ(index_text(HostTensor::zeros(DType::kF32, {}).value(), 0), "[]");
}

}  // namespace
}  // namespace backplane
