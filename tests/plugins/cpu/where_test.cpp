#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(WhereTest, ChoosesWithBroadcasting) {
  Random random(1);
  for (const uint32_t type : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_BF16, BP_TYPE_I32, BP_TYPE_U64, BP_TYPE_BOOL}) {
    const TestTensor condition = TestTensor::random(BP_TYPE_BOOL, {3, 1, 4}, random, 0, 1);
    const TestTensor x = TestTensor::random(type, {5, 1}, random, 0, 1), y = TestTensor::random(type, {}, random, 0, 1);
    const Shape shape = {3, 5, 4};
    const TestTensor c3 = condition.broadcast(shape), x3 = x.broadcast(shape), y3 = y.broadcast(shape);
    Values expected;
    for (int64_t i = 0; i < 60; ++i) expected.push_back(c3.get(i) != 0 ? x3.get(i) : y3.get(i));
    KernelCase c(BP_OP_WHERE);
    c.input(condition).input(x.scattered(random)).input(y).output(TestTensor(type, shape).scattered(random));
    c.expect({expected});
  }
}

TEST(WhereTest, Refusals) {
  KernelCase c(BP_OP_WHERE);
  c.input(TestTensor(BP_TYPE_U8, {1})).input(TestTensor(BP_TYPE_F32, {1})).input(TestTensor(BP_TYPE_F32, {1}));
  EXPECT_NE(c.output(BP_TYPE_F32, {1}).refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
