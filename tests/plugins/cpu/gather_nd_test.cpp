#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

const TestTensor kX(BP_TYPE_F32, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});

TEST(GatherNdTest, TuplesPickBlocks) {
  Random random(1);
  KernelCase c(BP_OP_GATHER_ND);
  c.input(kX.scattered(random)).input(TestTensor(BP_TYPE_I32, {2, 2}, {0, 1, -1, 0})).output(BP_TYPE_F32, {2, 2});
  c.expect({{2, 3, 4, 5}});
  KernelCase single(BP_OP_GATHER_ND);
  single.input(kX).input(TestTensor(BP_TYPE_I64, {1, 3}, {1, 0, 1})).output(BP_TYPE_F32, {1}).expect({{5}});
}

TEST(GatherNdTest, BatchAxesAreShared) {
  KernelCase c(BP_OP_GATHER_ND);
  c.input(kX).input(TestTensor(BP_TYPE_I64, {2, 1}, {1, 0})).output(BP_TYPE_F32, {2, 2}).attr(BP_ATTR_BATCH_DIMS, 1);
  c.expect({{2, 3, 4, 5}});
}

TEST(GatherNdTest, AnIndexOutsideIsADataError) {
  KernelCase c(BP_OP_GATHER_ND);
  c.input(kX).input(TestTensor(BP_TYPE_I64, {1, 2}, {0, 2})).output(BP_TYPE_F32, {1, 2});
  EXPECT_NE(c.data_error(1), "");
}

TEST(GatherNdTest, RefusesTuplesThatAreTooLong) {
  KernelCase c(BP_OP_GATHER_ND);
  c.input(kX).input(TestTensor(BP_TYPE_I64, {1, 4})).output(BP_TYPE_F32, {1});
  EXPECT_NE(c.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
