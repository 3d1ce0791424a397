#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

using List = std::vector<int64_t>;

TEST(Im2colTest, AColumnForEachPlace) {
  Random random(2);
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F16, BP_TYPE_U8, BP_TYPE_I64}) {
    KernelCase c(BP_OP_IM2COL);
    c.input(TestTensor(dtype, {1, 2, 3}, {1, 2, 3, 4, 5, 6}).scattered(random));
    c.output(TestTensor(dtype, {1, 4, 3}).scattered(random)).attr(BP_ATTR_KERNEL_SHAPE, List{2});
    c.attr(BP_ATTR_PADS, List{0, 1}).expect({{1, 2, 3, 2, 3, 0, 4, 5, 6, 5, 6, 0}});
  }
}

TEST(Im2colTest, StridesAndDilationsInTwoAxes) {
  KernelCase c(BP_OP_IM2COL);
  c.input(TestTensor(BP_TYPE_F32, {1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  c.output(BP_TYPE_F32, {1, 4, 4}).attr(BP_ATTR_KERNEL_SHAPE, List{2, 2}).attr(BP_ATTR_STRIDES, List{2, 1});
  c.attr(BP_ATTR_DILATIONS, List{1, 2}).attr(BP_ATTR_PADS, List{1, 0, 0, 0});
  c.expect({{0, 0, 5, 6, 0, 0, 7, 8, 1, 2, 9, 10, 3, 4, 11, 12}});
}

TEST(Im2colTest, Refusals) {
  KernelCase shape(BP_OP_IM2COL);
  shape.input(TestTensor(BP_TYPE_F32, {1, 2, 3})).output(BP_TYPE_F32, {1, 4, 3});
  EXPECT_NE(shape.attr(BP_ATTR_KERNEL_SHAPE, List{2}).refusal(), "");
  KernelCase kernel(BP_OP_IM2COL);
  EXPECT_NE(kernel.input(TestTensor(BP_TYPE_F32, {1, 2, 3})).output(BP_TYPE_F32, {1, 2, 3}).refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
