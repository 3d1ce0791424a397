#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(ArgReduceTest, FirstOrLastOfEquals) {
  const TestTensor x(BP_TYPE_I32, {2, 4}, {1, 7, 7, 0, 3, 3, 3, 3});
  const auto run = [&x](uint32_t op, int last, const Values& expected) {
    KernelCase c(op);
    c.input(x).output(BP_TYPE_I64, {2, 1}).attr(BP_ATTR_AXIS, 1).attr(BP_ATTR_SELECT_LAST_INDEX, last);
    c.expect({expected});
  };
  run(BP_OP_ARG_MAX, 0, {1, 0});
  run(BP_OP_ARG_MAX, 1, {2, 3});
  run(BP_OP_ARG_MIN, 0, {3, 0});
  run(BP_OP_ARG_MIN, 1, {3, 3});
}

TEST(ArgReduceTest, EveryAxisAndStride) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const uint32_t axis = seed % 3;
    const Shape shape = {random.integer(1, 5), random.integer(1, 700), random.integer(1, 5)};
    const TestTensor x = TestTensor::random(seed % 2 == 0 ? BP_TYPE_F32 : BP_TYPE_I64, shape, random, -1000, 1000);
    Shape kept = shape;
    kept[axis] = 1;
    Values expected;
    Shape index(3, 0);
    do {
      int64_t best = 0;
      double value = 0;
      for (int64_t i = 0; i < shape[axis]; ++i) {
        Shape at = index;
        at[axis] = i;
        const double candidate = x.get((at[0] * shape[1] + at[1]) * shape[2] + at[2]);
        if (i == 0 || candidate > value) best = i, value = candidate;
      }
      expected.push_back(static_cast<double>(best));
    } while (next_index(index, kept));
    KernelCase c(BP_OP_ARG_MAX);
    c.input(x.scattered(random)).output(BP_TYPE_I64, kept).attr(BP_ATTR_AXIS, static_cast<int64_t>(axis));
    c.expect({expected});
  }
}

TEST(ArgReduceTest, NanCountsAsTheExtreme) {
  const double nan = std::nan("");
  const TestTensor x(BP_TYPE_F32, {4}, {9, nan, 1, nan});
  for (const uint32_t op : {BP_OP_ARG_MAX, BP_OP_ARG_MIN}) {
    KernelCase first(op);
    first.input(x).output(BP_TYPE_I64, {}).attr(BP_ATTR_KEEPDIMS, 0).expect({{1}});
    KernelCase last(op);
    last.input(x).output(BP_TYPE_I64, {1}).attr(BP_ATTR_SELECT_LAST_INDEX, 1).expect({{3}});
  }
}

TEST(ArgReduceTest, RefusesAnEmptyAxis) {
  KernelCase c(BP_OP_ARG_MAX);
  EXPECT_NE(c.input(TestTensor(BP_TYPE_F32, {0})).output(BP_TYPE_I64, {1}).refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
