#include <gtest/gtest.h>

#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(OrderTest, CumSumEveryWay) {
  Random random(5);
  const TestTensor x = TestTensor(BP_TYPE_I16, {2, 3}, {1, 2, 3, 4, 5, 6}).scattered(random);
  const auto sums = [&](int axis, int exclusive, int reverse, const Values& expected) {
    KernelCase c(BP_OP_CUM_SUM);
    c.input(x).output(TestTensor(BP_TYPE_I16, {2, 3}).scattered(random)).attr(BP_ATTR_AXIS, axis);
    c.attr(BP_ATTR_EXCLUSIVE, exclusive).attr(BP_ATTR_REVERSE, reverse).expect({expected});
  };
  sums(0, 0, 0, {1, 2, 3, 5, 7, 9});
  sums(1, 0, 0, {1, 3, 6, 4, 9, 15});
  sums(1, 1, 0, {0, 1, 3, 0, 4, 9});
  sums(1, 0, 1, {6, 5, 3, 15, 11, 6});
  sums(0, 1, 1, {4, 5, 6, 0, 0, 0});
}

TEST(OrderTest, LongSumsKeepTheirDigits) {
  const int64_t count = 1 << 16;
  const TestTensor x(BP_TYPE_F32, {count}, Values(static_cast<size_t>(count), 0.1f));
  KernelCase c(BP_OP_CUM_SUM);
  c.input(x).output(BP_TYPE_F32, {count});
  const std::vector<TestTensor> made = c.run();
  EXPECT_EQ(made[0].get(count - 1), static_cast<float>(static_cast<double>(0.1f) * static_cast<double>(count)));
}

TEST(OrderTest, TopKIsStableAndPutsNanFirst) {
  KernelCase largest(BP_OP_TOP_K);
  largest.input(TestTensor(BP_TYPE_F32, {5}, {1, 3, kNan, 3, -2})).output(BP_TYPE_F32, {4}).output(BP_TYPE_I64, {4});
  largest.attr(BP_ATTR_K, 4).expect({{kNan, 3, 3, 1}, {2, 1, 3, 0}});
  KernelCase smallest(BP_OP_TOP_K);
  smallest.input(TestTensor(BP_TYPE_U8, {2, 2}, {9, 4, 3, 200})).output(BP_TYPE_U8, {1, 2}).output(BP_TYPE_I64, {1, 2});
  smallest.attr(BP_ATTR_K, 1).attr(BP_ATTR_AXIS, 0).attr(BP_ATTR_LARGEST, 0).expect({{3, 4}, {1, 0}});
}

TEST(OrderTest, TopKGivesEitherOutputAlone) {
  KernelCase indices(BP_OP_TOP_K);
  indices.input(TestTensor(BP_TYPE_F32, {3}, {1, 3, 2})).unwanted().output(BP_TYPE_I64, {2}).attr(BP_ATTR_K, 2);
  indices.expect({{1, 2}});
  KernelCase values(BP_OP_TOP_K);
  values.input(TestTensor(BP_TYPE_F32, {3}, {1, 3, 2})).output(BP_TYPE_F32, {2}).attr(BP_ATTR_K, 2);
  values.expect({{3, 2}});
}

TEST(OrderTest, SortIsStableAndTakesNanForTheLargest) {
  Random random(7);
  const auto sorted = [&](int descending, const Values& values, const Values& indices) {
    for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_BF16}) {
      KernelCase c(BP_OP_SORT);
      c.input(TestTensor(dtype, {5}, {2, kNan, -1, 2, 8}).scattered(random));
      c.output(TestTensor(dtype, {5}).scattered(random)).output(BP_TYPE_I64, {5});
      c.attr(BP_ATTR_DESCENDING, descending).expect({values, indices});
    }
  };
  sorted(0, {-1, 2, 2, 8, kNan}, {2, 0, 3, 4, 1});
  sorted(1, {kNan, 8, 2, 2, -1}, {1, 4, 0, 3, 2});
}

TEST(OrderTest, SortsColumnsOfAnyInteger) {
  KernelCase c(BP_OP_SORT);
  c.input(TestTensor::exact<uint64_t>(BP_TYPE_U64, {2, 2}, {~uint64_t{0}, 1, ~uint64_t{0} - 1, 2})).unwanted();
  c.output(BP_TYPE_I64, {2, 2}).attr(BP_ATTR_AXIS, 0).expect({{1, 0, 0, 1}});
}

TEST(OrderTest, Refusals) {
  KernelCase k(BP_OP_TOP_K);
  k.input(TestTensor(BP_TYPE_F32, {3})).output(BP_TYPE_F32, {4}).output(BP_TYPE_I64, {4}).attr(BP_ATTR_K, 4);
  EXPECT_NE(k.refusal(), "");
  KernelCase sum(BP_OP_CUM_SUM);
  sum.input(TestTensor(BP_TYPE_BOOL, {3})).output(BP_TYPE_BOOL, {3});
  EXPECT_NE(sum.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
