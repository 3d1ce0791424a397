#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(GatherTest, EveryAxisAndStride) {
  for (uint32_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const uint32_t axis = seed % 3;
    const uint32_t index_type = seed % 2 == 0 ? BP_TYPE_I64 : BP_TYPE_I32;
    const Shape shape = {random.integer(1, 5), random.integer(1, 6), random.integer(1, 9)};
    const TestTensor x = TestTensor::random(BP_TYPE_F32, shape, random);
    const double extent = static_cast<double>(shape[axis]);
    const TestTensor indices = TestTensor::random(index_type, {2, 3}, random, -extent, extent - 1);
    const int64_t outer = axis == 0 ? 1 : axis == 1 ? shape[0] : shape[0] * shape[1];
    const int64_t inner = axis == 2 ? 1 : axis == 1 ? shape[2] : shape[1] * shape[2];
    Values expected;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < 6; ++i)
        for (int64_t k = 0; k < inner; ++k) {
          int64_t index = static_cast<int64_t>(indices.get(i));
          if (index < 0) index += shape[axis];
          expected.push_back(x.get((o * shape[axis] + index) * inner + k));
        }
    Shape out(shape.begin(), shape.begin() + axis);
    out.insert(out.end(), {2, 3});
    out.insert(out.end(), shape.begin() + axis + 1, shape.end());
    KernelCase c(BP_OP_GATHER);
    c.input(x.scattered(random))
        .input(indices.scattered(random))
        .output(TestTensor(BP_TYPE_F32, out).scattered(random));
    c.attr(BP_ATTR_AXIS, static_cast<int64_t>(axis)).expect({expected});
    KernelCase dense(BP_OP_GATHER);
    dense.input(x).input(indices).output(BP_TYPE_F32, out).attr(BP_ATTR_AXIS, static_cast<int64_t>(axis));
    dense.expect({expected});
  }
}

TEST(GatherTest, ScalarIndexRemovesTheAxis) {
  KernelCase c(BP_OP_GATHER);
  c.input(TestTensor(BP_TYPE_U8, {2, 2}, {1, 2, 3, 4})).input(TestTensor(BP_TYPE_I64, {}, {1})).output(BP_TYPE_U8, {2});
  c.expect({{3, 4}});
}

TEST(GatherTest, AnIndexOutsideIsADataError) {
  for (const double bad : {3.0, -4.0, 1e9}) {
    KernelCase c(BP_OP_GATHER);
    c.input(TestTensor(BP_TYPE_F32, {3})).input(TestTensor(BP_TYPE_I64, {2}, {0, bad})).output(BP_TYPE_F32, {2});
    EXPECT_NE(c.data_error(1), "");
    EXPECT_NE(c.data_error(3), "");
  }
}

TEST(GatherTest, EmptyAxisWithoutIndices) {
  KernelCase c(BP_OP_GATHER);
  c.input(TestTensor(BP_TYPE_F32, {0, 3})).input(TestTensor(BP_TYPE_I64, {0})).output(BP_TYPE_F32, {0, 3}).expect({{}});
}

TEST(GatherTest, Refusals) {
  KernelCase type(BP_OP_GATHER);
  type.input(TestTensor(BP_TYPE_F32, {3})).input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {2});
  EXPECT_NE(type.refusal(), "");
  KernelCase shape(BP_OP_GATHER);
  shape.input(TestTensor(BP_TYPE_F32, {3})).input(TestTensor(BP_TYPE_I64, {2})).output(BP_TYPE_F32, {3});
  EXPECT_NE(shape.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
