#include <gtest/gtest.h>

#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(QuantizeTest, RoundsHalfToEvenThenSaturates) {
  KernelCase c(BP_OP_QUANTIZE_LINEAR);
  c.input(TestTensor(BP_TYPE_F32, {7}, {0, 1, 3, 5, 1e9, -1e9, kNan})).input(TestTensor(BP_TYPE_F32, {}, {2}));
  c.input(TestTensor(BP_TYPE_U8, {}, {10})).output(BP_TYPE_U8, {7}).expect({{10, 10, 12, 12, 255, 0, 10}});
  KernelCase wide(BP_OP_QUANTIZE_LINEAR);
  wide.input(TestTensor(BP_TYPE_F64, {2}, {1e9, -1e9})).input(TestTensor(BP_TYPE_F64, {}, {2}));
  wide.output(BP_TYPE_I16, {2}).attr(BP_ATTR_TO, int64_t{BP_TYPE_I16}).expect({{32767, -32768}});
}

TEST(QuantizeTest, ParametersBroadcast) {
  Random random(2);
  KernelCase c(BP_OP_QUANTIZE_LINEAR);
  c.input(TestTensor(BP_TYPE_F16, {2, 2}, {4, 4, 4, 4}).scattered(random));
  c.input(TestTensor(BP_TYPE_F16, {2, 1}, {1, 2})).input(TestTensor(BP_TYPE_I8, {2}, {0, 1}));
  c.output(TestTensor(BP_TYPE_I8, {2, 2}).scattered(random)).attr(BP_ATTR_TO, int64_t{BP_TYPE_I8});
  c.expect({{4, 5, 2, 3}});
}

TEST(QuantizeTest, Dequantize) {
  KernelCase c(BP_OP_DEQUANTIZE_LINEAR);
  c.input(TestTensor(BP_TYPE_I32, {2}, {2147483647, -2147483648.0})).input(TestTensor(BP_TYPE_F64, {}, {0.5}));
  c.input(TestTensor(BP_TYPE_I32, {}, {-1})).output(BP_TYPE_F64, {2}).expect({{1073741824, -1073741823.5}});
}

TEST(QuantizeTest, DynamicRangeHoldsZero) {
  KernelCase c(BP_OP_DYNAMIC_QUANTIZE_LINEAR);
  c.input(TestTensor(BP_TYPE_F32, {3}, {255, 510, 51})).output(BP_TYPE_U8, {3}).output(BP_TYPE_F32, {});
  c.output(BP_TYPE_U8, {}).expect({{128, 255, 26}, {2}, {0}});
  KernelCase zeros(BP_OP_DYNAMIC_QUANTIZE_LINEAR);
  zeros.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_U8, {2}).output(BP_TYPE_F32, {}).expect({{0, 0}, {1}});
}

TEST(QuantizeTest, Refusals) {
  KernelCase type(BP_OP_QUANTIZE_LINEAR);
  type.input(TestTensor(BP_TYPE_F32, {2})).input(TestTensor(BP_TYPE_F32, {})).output(BP_TYPE_I32, {2});
  EXPECT_NE(type.attr(BP_ATTR_TO, int64_t{BP_TYPE_I32}).refusal(), "");
  KernelCase scale(BP_OP_DEQUANTIZE_LINEAR);
  scale.input(TestTensor(BP_TYPE_U8, {2})).input(TestTensor(BP_TYPE_F32, {3})).output(BP_TYPE_F32, {2});
  EXPECT_NE(scale.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
