#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(GatherElementsTest, EveryAxisAndStride) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const uint32_t axis = seed % 2;
    const Shape shape = {random.integer(1, 5), random.integer(1, 7)};
    Shape picked = shape;
    picked[axis] = random.integer(1, 9);
    const double extent = static_cast<double>(shape[axis]);
    const TestTensor x = TestTensor::random(BP_TYPE_F32, shape, random);
    const TestTensor indices =
        TestTensor::random(seed % 3 == 0 ? BP_TYPE_I32 : BP_TYPE_I64, picked, random, -extent, extent - 1);
    Values expected;
    for (int64_t i = 0; i < picked[0]; ++i)
      for (int64_t j = 0; j < picked[1]; ++j) {
        int64_t at[] = {i, j};
        at[axis] = static_cast<int64_t>(indices.get(i * picked[1] + j));
        if (at[axis] < 0) at[axis] += shape[axis];
        expected.push_back(x.get(at[0] * shape[1] + at[1]));
      }
    KernelCase c(BP_OP_GATHER_ELEMENTS);
    c.input(x.scattered(random)).input(indices.scattered(random));
    c.output(TestTensor(BP_TYPE_F32, picked).scattered(random)).attr(BP_ATTR_AXIS, static_cast<int64_t>(axis));
    c.expect({expected});
  }
}

TEST(GatherElementsTest, AnIndexOutsideIsADataError) {
  for (const double bad : {2.0, -3.0, 1e12}) {
    KernelCase c(BP_OP_GATHER_ELEMENTS);
    c.input(TestTensor(BP_TYPE_U8, {2})).input(TestTensor(BP_TYPE_I64, {1}, {bad})).output(BP_TYPE_U8, {1});
    EXPECT_NE(c.data_error(2), "");
  }
}

TEST(GatherElementsTest, RefusesIndicesThatDoNotFit) {
  KernelCase longer(BP_OP_GATHER_ELEMENTS);
  longer.input(TestTensor(BP_TYPE_F32, {2, 2})).input(TestTensor(BP_TYPE_I64, {1, 3})).output(BP_TYPE_F32, {1, 3});
  EXPECT_NE(longer.refusal(), "");
  KernelCase type(BP_OP_GATHER_ELEMENTS);
  type.input(TestTensor(BP_TYPE_F32, {2})).input(TestTensor(BP_TYPE_I16, {1})).output(BP_TYPE_F32, {1});
  EXPECT_NE(type.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
