#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

KernelCase rows_of(uint32_t dtype, uint32_t from, const Values& indices) {
  Random random(3);
  const auto count = static_cast<int64_t>(indices.size());
  Values rows;
  for (int64_t i = 0; i < 2 * count; ++i) rows.push_back(static_cast<double>(10 + i));
  KernelCase c(BP_OP_SET_ROWS);
  c.input(TestTensor(dtype, {3, 2}, {1, 2, 3, 4, 5, 6}).scattered(random));
  c.input(TestTensor(from, {count, 2}, rows).scattered(random)).input(TestTensor(BP_TYPE_I64, {count}, indices));
  c.output(TestTensor(dtype, {3, 2}).scattered(random));
  return c;
}

// KernelCase runs it in place too, where nothing but the rows may be written.
TEST(SetRowsTest, LaterRowsWin) {
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_I8, BP_TYPE_U16})
    rows_of(dtype, dtype, {2, -3, 2}).expect({{12, 13, 3, 4, 14, 15}});
  EXPECT_EQ(rows_of(BP_TYPE_F32, BP_TYPE_F32, {0}).alias_mask(), 1u);
}

TEST(SetRowsTest, CastsFloats) {
  rows_of(BP_TYPE_F16, BP_TYPE_F32, {1}).expect({{1, 2, 10, 11, 5, 6}});
  rows_of(BP_TYPE_BF16, BP_TYPE_F64, {1}).expect({{1, 2, 10, 11, 5, 6}});
  rows_of(BP_TYPE_F32, BP_TYPE_F16, {1}).expect({{1, 2, 10, 11, 5, 6}});
}

TEST(SetRowsTest, IndicesBroadcastOverMatrices) {
  KernelCase c(BP_OP_SET_ROWS);
  c.input(TestTensor(BP_TYPE_F32, {2, 2, 1}, {1, 2, 3, 4})).input(TestTensor(BP_TYPE_F32, {2, 1, 1}, {8, 9}));
  c.input(TestTensor(BP_TYPE_I32, {1}, {1})).output(BP_TYPE_F32, {2, 2, 1}).expect({{1, 8, 3, 9}});
}

TEST(SetRowsTest, ABadIndexIsADataErrorBeforeAnythingIsWritten) {
  EXPECT_NE(rows_of(BP_TYPE_F32, BP_TYPE_F32, {0, 3}).data_error(2), "");
  EXPECT_NE(rows_of(BP_TYPE_F32, BP_TYPE_F32, {0, -4}).data_error(1), "");
}

TEST(SetRowsTest, Refusals) {
  EXPECT_NE(rows_of(BP_TYPE_I32, BP_TYPE_F32, {0}).refusal(), "");
  EXPECT_NE(rows_of(BP_TYPE_F32, BP_TYPE_I32, {0}).refusal(), "");
  KernelCase indices(BP_OP_SET_ROWS);
  indices.input(TestTensor(BP_TYPE_F32, {3, 2})).input(TestTensor(BP_TYPE_F32, {2, 2}));
  indices.input(TestTensor(BP_TYPE_I64, {3})).output(BP_TYPE_F32, {3, 2});
  EXPECT_NE(indices.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
