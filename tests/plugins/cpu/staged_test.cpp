// Half precision and narrow integers, through the kernels of wider types.
#include <gtest/gtest.h>

#include "kernel_fixture.hpp"
#include "kernels/staged.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(StagedTest, HalfPrecisionIsRoundedOnce) {
  Random random(6);
  KernelCase c(BP_OP_MATMUL);
  // 2048 + 1 + 1 is 2050 in f16, if the sum is not rounded on the way.
  c.input(TestTensor(BP_TYPE_F16, {1, 3}, {2048, 1, 1}).scattered(random));
  c.input(TestTensor(BP_TYPE_F16, {3, 1}, {1, 1, 1})).output(BP_TYPE_F16, {1, 1}).expect({{2050}});
}

TEST(StagedTest, EveryFamilyTakesHalfPrecision) {
  KernelCase softmax(BP_OP_SOFTMAX);
  softmax.input(TestTensor(BP_TYPE_BF16, {2}, {0, 0})).output(BP_TYPE_BF16, {2}).expect({{0.5, 0.5}});
  KernelCase conv(BP_OP_CONV);
  conv.input(TestTensor(BP_TYPE_F16, {1, 1, 2}, {1, 2})).input(TestTensor(BP_TYPE_F16, {1, 1, 1}, {3})).absent();
  conv.output(BP_TYPE_F16, {1, 1, 2}).expect({{3, 6}});
  KernelCase norm(BP_OP_RMS_NORM);
  norm.input(TestTensor(BP_TYPE_F16, {2}, {2, 2})).input(TestTensor(BP_TYPE_F16, {2}, {1, 3}));
  norm.output(BP_TYPE_F16, {2}).attr(BP_ATTR_AXIS, 0).attr(BP_ATTR_EPSILON, 0.0).expect({{1, 3}});
}

TEST(StagedTest, NarrowIntegersWrap) {
  KernelCase c(BP_OP_MATMUL);
  c.input(TestTensor(BP_TYPE_I8, {1, 2}, {100, 100})).input(TestTensor(BP_TYPE_I8, {2, 1}, {2, 1}));
  c.output(BP_TYPE_I8, {1, 1}).expect({{44}});  // 300 - 256
}

TEST(StagedTest, MaxPoolOfBytesGivesIndicesToo) {
  KernelCase c(BP_OP_MAX_POOL);
  c.input(TestTensor(BP_TYPE_U8, {1, 1, 4}, {1, 200, 3, 255})).output(BP_TYPE_U8, {1, 1, 2});
  c.output(BP_TYPE_I64, {1, 1, 2}).attr(BP_ATTR_KERNEL_SHAPE, std::vector<int64_t>{2});
  c.attr(BP_ATTR_STRIDES, std::vector<int64_t>{2}).expect({{200, 255}, {1, 3}});
}

TEST(StagedTest, WhatTheWiderKernelRefusesIsRefused) {
  KernelCase c(BP_OP_MATMUL);
  c.input(TestTensor(BP_TYPE_F16, {1, 2})).input(TestTensor(BP_TYPE_F16, {3, 1})).output(BP_TYPE_F16, {1, 1});
  EXPECT_NE(c.refusal(), "");
  EXPECT_EQ(widened_type(BP_OP_CONV, BP_TYPE_I8), Staging::kAsIs);
}

}  // namespace
}  // namespace backplane_cpu::testing
