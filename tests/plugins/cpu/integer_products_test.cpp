#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(IntegerProductsTest, MatmulSubtractsZeroPoints) {
  Random random(4);
  KernelCase c(BP_OP_MATMUL_INTEGER);
  c.input(TestTensor(BP_TYPE_U8, {2, 2}, {10, 12, 255, 0}).scattered(random));
  c.input(TestTensor(BP_TYPE_I8, {2, 1}, {-1, 3})).input(TestTensor(BP_TYPE_U8, {2, 1}, {10, 255}));
  c.input(TestTensor(BP_TYPE_I8, {1}, {1})).output(BP_TYPE_I32, {2, 1}).expect({{4, -510}});
  KernelCase plain(BP_OP_MATMUL_INTEGER);
  plain.input(TestTensor(BP_TYPE_U8, {1, 2}, {10, 12})).input(TestTensor(BP_TYPE_U8, {2, 1}, {255, 255}));
  plain.output(BP_TYPE_I32, {1, 1}).expect({{5610}});
}

TEST(IntegerProductsTest, ConvPadsWithTheZeroPoint) {
  KernelCase c(BP_OP_CONV_INTEGER);
  c.input(TestTensor(BP_TYPE_U8, {1, 1, 3}, {3, 4, 5})).input(TestTensor(BP_TYPE_U8, {1, 1, 2}, {1, 2}));
  c.input(TestTensor(BP_TYPE_U8, {}, {3})).output(BP_TYPE_I32, {1, 1, 3});
  c.attr(BP_ATTR_PADS, std::vector<int64_t>{1, 0}).expect({{0, 2, 5}});
}

TEST(IntegerProductsTest, Refusals) {
  KernelCase type(BP_OP_MATMUL_INTEGER);
  type.input(TestTensor(BP_TYPE_I32, {1, 1})).input(TestTensor(BP_TYPE_U8, {1, 1})).output(BP_TYPE_I32, {1, 1});
  EXPECT_NE(type.refusal(), "");
  KernelCase zero(BP_OP_MATMUL_INTEGER);
  zero.input(TestTensor(BP_TYPE_U8, {1, 1})).input(TestTensor(BP_TYPE_U8, {1, 1})).input(TestTensor(BP_TYPE_I8, {}));
  EXPECT_NE(zero.output(BP_TYPE_I32, {1, 1}).refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
