#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

KernelCase elements(uint32_t dtype, const Values& indices, const Values& updates, const char* reduction) {
  Random random(3);
  const auto count = static_cast<int64_t>(indices.size());
  KernelCase c(BP_OP_SCATTER_ELEMENTS);
  c.input(TestTensor(dtype, {3}, {1, 2, 3}).scattered(random)).input(TestTensor(BP_TYPE_I64, {count}, indices));
  c.input(TestTensor(dtype, {count}, updates)).output(TestTensor(dtype, {3}).scattered(random));
  c.attr(BP_ATTR_REDUCTION, reduction);
  return c;
}

TEST(ScatterTest, UpdatesOfOneElementAreAppliedInOrder) {
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F16, BP_TYPE_I8, BP_TYPE_U64}) {
    elements(dtype, {2, 0, 2}, {4, 5, 6}, "none").expect({{5, 2, 6}});
    elements(dtype, {2, 0, -1}, {4, 5, 6}, "add").expect({{6, 2, 13}});
    elements(dtype, {2, 0, 2}, {4, 5, 6}, "mul").expect({{5, 2, 72}});
    elements(dtype, {2, 0, 2}, {4, 0, 6}, "min").expect({{0, 2, 3}});
    elements(dtype, {2, 0, 2}, {6, 0, 4}, "max").expect({{1, 2, 6}});
  }
}

TEST(ScatterTest, AlongAnAxis) {
  KernelCase c(BP_OP_SCATTER_ELEMENTS);
  c.input(TestTensor(BP_TYPE_F32, {2, 2})).input(TestTensor(BP_TYPE_I32, {1, 2}, {1, 0}));
  c.input(TestTensor(BP_TYPE_F32, {1, 2}, {7, 8})).output(BP_TYPE_F32, {2, 2}).attr(BP_ATTR_AXIS, 0);
  c.expect({{0, 8, 7, 0}});
}

TEST(ScatterTest, NdPlacesBlocks) {
  KernelCase c(BP_OP_SCATTER_ND);
  c.input(TestTensor(BP_TYPE_F32, {3, 2})).input(TestTensor(BP_TYPE_I64, {3, 1}, {2, 0, 2}));
  c.input(TestTensor(BP_TYPE_F32, {3, 2}, {1, 2, 3, 4, 5, 6})).output(BP_TYPE_F32, {3, 2});
  c.attr(BP_ATTR_REDUCTION, "add").expect({{3, 4, 0, 0, 6, 8}});
}

TEST(ScatterTest, AnIndexOutsideIsADataError) {
  EXPECT_NE(elements(BP_TYPE_F32, {3}, {1}, "none").data_error(1), "");
  KernelCase nd(BP_OP_SCATTER_ND);
  nd.input(TestTensor(BP_TYPE_F32, {3})).input(TestTensor(BP_TYPE_I64, {1, 1}, {-4}));
  nd.input(TestTensor(BP_TYPE_F32, {1})).output(BP_TYPE_F32, {3});
  EXPECT_NE(nd.data_error(1), "");
}

TEST(ScatterTest, RefusesSumsOfBools) {
  EXPECT_NE(elements(BP_TYPE_BOOL, {0}, {1}, "add").refusal(), "");
  EXPECT_NE(elements(BP_TYPE_F32, {0}, {1}, "avg").refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
