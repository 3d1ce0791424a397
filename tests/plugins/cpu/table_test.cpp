#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

KernelCase add_case(const TestTensor& x, const TestTensor& y) {
  KernelCase c(BP_OP_ADD);
  c.input(x).input(x).output(y);
  return c;
}

TEST(TableTest, UnknownOpsAndVersionsAreRefused) {
  const TestTensor x(BP_TYPE_F32, {2});
  KernelCase unknown(BP_OP_LRN);
  EXPECT_NE(unknown.input(x).output(x).refusal().find("lrn"), std::string::npos);
  EXPECT_EQ(add_case(x, x).refusal(), "");
  EXPECT_NE(add_case(x, x).version(2).refusal().find("version 2"), std::string::npos);
}

TEST(TableTest, MalformedAttributesAreRefusedNotThrown) {
  const TestTensor x(BP_TYPE_F32, {2});
  KernelCase c(BP_OP_LEAKY_RELU);
  EXPECT_NE(c.input(x).output(x).attr(BP_ATTR_ALPHA, "big").refusal(), "");
}

TEST(TableTest, OperandsThatNoKernelHandles) {
  TestTensor x(BP_TYPE_F32, {2}), y = x;
  y.strides = {0};
  EXPECT_NE(add_case(x, y).refusal(), "");
  const TestTensor deep(BP_TYPE_F32, Shape(13, 1));
  EXPECT_NE(add_case(deep, deep).refusal(), "");
  x.strides = {6};
  EXPECT_NE(add_case(x, TestTensor(BP_TYPE_F32, {2})).refusal(), "");
}

TEST(TableTest, ElementwiseOpsMayRunInPlace) {
  const TestTensor x(BP_TYPE_F32, {2});
  EXPECT_EQ(add_case(x, x).alias_mask(), 3u);
  KernelCase unary(BP_OP_EXP);
  EXPECT_EQ(unary.input(x).output(x).alias_mask(), 1u);
  KernelCase copy(BP_OP_COPY);
  EXPECT_EQ(copy.input(x).output(x).alias_mask(), 0u);
}

}  // namespace
}  // namespace backplane_cpu::testing
