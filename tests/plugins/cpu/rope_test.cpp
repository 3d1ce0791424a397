#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(RopeTest, TurnsNeighboursOrHalves) {
  Random random(5);
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64}) {
    const TestTensor x = TestTensor(dtype, {1, 4}, {1, 0, 0, 1}).scattered(random);
    const double c = std::cos(2.0), s = std::sin(2.0), slow_c = std::cos(0.02), slow_s = std::sin(0.02);
    KernelCase neighbours(BP_OP_ROPE);
    neighbours.input(x).input(TestTensor(BP_TYPE_I64, {1}, {2})).output(TestTensor(dtype, {1, 4}).scattered(random));
    neighbours.attr(BP_ATTR_INTERLEAVED, 1).expect({{c, s, -slow_s, slow_c}}, {1e-6, 1e-7});
    KernelCase halves(BP_OP_ROPE);
    halves.input(x).input(TestTensor(BP_TYPE_I32, {}, {2})).output(dtype, {1, 4});
    halves.expect({{c, -slow_s, s, slow_c}}, {1e-6, 1e-7});
  }
}

TEST(RopeTest, FarPositionsKeepTheirDigits) {
  KernelCase c(BP_OP_ROPE);
  c.input(TestTensor(BP_TYPE_F32, {1, 2}, {1, 0}))
      .input(TestTensor(BP_TYPE_I64, {1}, {1e6}))
      .output(BP_TYPE_F32, {1, 2});
  c.expect({{std::cos(1e6), std::sin(1e6)}}, {1e-6, 0});
}

TEST(RopeTest, PartOfARowWithFactorsBaseAndScale) {
  KernelCase c(BP_OP_ROPE);
  c.input(TestTensor(BP_TYPE_F16, {1, 3}, {1, 0, 7})).input(TestTensor(BP_TYPE_I64, {1}, {8}));
  c.input(TestTensor(BP_TYPE_F32, {1}, {2})).output(BP_TYPE_F16, {1, 3}).attr(BP_ATTR_ROTARY_DIM, 2);
  c.attr(BP_ATTR_SCALE, 0.25).attr(BP_ATTR_BASE, 100.0).expect({{std::cos(1.0), std::sin(1.0), 7}}, {1e-3, 0});
}

TEST(RopeTest, Refusals) {
  KernelCase odd(BP_OP_ROPE);
  odd.input(TestTensor(BP_TYPE_F32, {1, 3})).input(TestTensor(BP_TYPE_I64, {1})).output(BP_TYPE_F32, {1, 3});
  EXPECT_NE(odd.refusal(), "");
  KernelCase positions(BP_OP_ROPE);
  positions.input(TestTensor(BP_TYPE_F32, {2, 2})).input(TestTensor(BP_TYPE_I64, {3})).output(BP_TYPE_F32, {2, 2});
  EXPECT_NE(positions.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
