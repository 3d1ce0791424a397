#include "kernels/types.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "test_tensor.hpp"

namespace backplane_cpu::testing {
namespace {

// The plain conversions of TestTensor are the reference.
TEST(TypesTest, EveryHalfValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const F16 half{static_cast<uint16_t>(bits)};
    const Bf16 brain{static_cast<uint16_t>(bits)};
    const TestTensor as_half = TestTensor::exact<uint16_t>(BP_TYPE_F16, {1}, {half.bits});
    const TestTensor as_brain = TestTensor::exact<uint16_t>(BP_TYPE_BF16, {1}, {brain.bits});
    if (!std::isnan(as_half.get(0))) {
      ASSERT_EQ(static_cast<double>(to_float(half)), as_half.get(0)) << bits;
      ASSERT_EQ(to_f16(to_float(half)).bits, half.bits) << bits;
    } else {
      ASSERT_TRUE(std::isnan(to_float(half)) && std::isnan(to_float(to_f16(to_float(half))))) << bits;
    }
    if (!std::isnan(as_brain.get(0))) {
      ASSERT_EQ(static_cast<double>(to_float(brain)), as_brain.get(0)) << bits;
      ASSERT_EQ(to_bf16(to_float(brain)).bits, brain.bits) << bits;
    } else {
      ASSERT_TRUE(std::isnan(to_float(brain)) && std::isnan(to_float(to_bf16(to_float(brain))))) << bits;
    }
  }
}

TEST(TypesTest, RoundsToNearestEven) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::ldexp(random.real(-1, 1), static_cast<int>(random.integer(-26, 17)));
    TestTensor half(BP_TYPE_F16, {1}, {value}), brain(BP_TYPE_BF16, {1}, {value});
    ASSERT_EQ(to_f16(round_to_odd(value)).bits, half.get_exact<uint16_t>(0)) << value;
    ASSERT_EQ(to_bf16(round_to_odd(value)).bits, brain.get_exact<uint16_t>(0)) << value;
  }
}

}  // namespace
}  // namespace backplane_cpu::testing
