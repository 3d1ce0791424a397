#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(MatmulIdTest, RowsTakeTheMatricesThatTheirIdsName) {
  Random random(2);
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_F16, BP_TYPE_BF16}) {
    KernelCase c(BP_OP_MATMUL_ID);
    c.input(TestTensor(dtype, {2, 1, 2}, {1, 2, 3, 4}).scattered(random));
    c.input(TestTensor(dtype, {3, 2, 2}, {1, 0, 0, 1, 0, 1, 1, 0, 10, 0, 0, 20}).scattered(random));
    c.input(TestTensor(BP_TYPE_I32, {2, 3}, {0, 2, 1, 2, -3, 2})).output(dtype, {2, 3, 2});
    c.expect({{1, 2, 10, 40, 2, 1, 30, 80, 3, 4, 30, 80}});
  }
}

// More rows than one, more columns than a panel, in every layout of the matrices.
TEST(MatmulIdTest, AgreesWithSumsByHand) {
  constexpr int64_t kRows = 9, kDepth = 70, kColumns = 45, kCount = 4;
  Random random(11);
  const TestTensor x = TestTensor::random(BP_TYPE_F32, {kRows, kDepth}, random);
  const TestTensor w = TestTensor::random(BP_TYPE_F32, {kCount, kDepth, kColumns}, random);
  Values ids, expected;
  for (int64_t row = 0; row < kRows; ++row) ids.push_back(static_cast<double>(random.integer(0, kCount - 2)));
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t n = 0; n < kColumns; ++n) {
      double sum = 0;
      for (int64_t k = 0; k < kDepth; ++k)
        sum += x.get(row * kDepth + k) *
               w.get((static_cast<int64_t>(ids[static_cast<size_t>(row)]) * kDepth + k) * kColumns + n);
      expected.push_back(sum);
    }
  for (const TestTensor& layout :
       {w, w.permuted({0, 2, 1}).scattered(random).permuted({0, 2, 1}), w.scattered(random)}) {
    KernelCase c(BP_OP_MATMUL_ID);
    c.input(x).input(layout).input(TestTensor(BP_TYPE_I64, {kRows}, ids)).output(BP_TYPE_F32, {kRows, kColumns});
    c.expect({expected}, {1e-5, 1e-4});
  }
}

KernelCase one_row(uint32_t x, uint32_t w, double id) {
  KernelCase c(BP_OP_MATMUL_ID);
  c.input(TestTensor(x, {1, 2})).input(TestTensor(w, {3, 2, 1})).input(TestTensor(BP_TYPE_I64, {1}, {id}));
  c.output(x, {1, 1});
  return c;
}

TEST(MatmulIdTest, AnIdThatNamesNothingIsADataError) {
  EXPECT_NE(one_row(BP_TYPE_F32, BP_TYPE_F32, 3).data_error(2), "");
  EXPECT_NE(one_row(BP_TYPE_F32, BP_TYPE_F32, -4).data_error(1), "");
}

TEST(MatmulIdTest, Refusals) {
  EXPECT_EQ(one_row(BP_TYPE_F32, BP_TYPE_F32, 0).refusal(), "");
  EXPECT_NE(one_row(BP_TYPE_F32, BP_TYPE_F16, 0).refusal(), "");
  EXPECT_NE(one_row(BP_TYPE_I32, BP_TYPE_I32, 0).refusal(), "");
  KernelCase c(BP_OP_MATMUL_ID);
  c.input(TestTensor(BP_TYPE_F32, {2, 2})).input(TestTensor(BP_TYPE_F32, {3, 2, 1}));
  EXPECT_NE(c.input(TestTensor(BP_TYPE_I64, {3})).output(BP_TYPE_F32, {3, 1}).refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
