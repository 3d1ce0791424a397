#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(ClipTest, BothBoundsOneOrNone) {
  for (const uint32_t type : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_F16, BP_TYPE_I32, BP_TYPE_I8}) {
    const TestTensor x(type, {4}, {-5, 0, 3, 9}), low(type, {}, {-1}), high(type, {}, {4});
    KernelCase both(BP_OP_CLIP);
    both.input(x).input(low).input(high).output(type, {4}).expect({{-1, 0, 3, 4}});
    KernelCase lower(BP_OP_CLIP);
    lower.input(x).input(low).output(type, {4}).expect({{-1, 0, 3, 9}});
    KernelCase upper(BP_OP_CLIP);
    upper.input(x).absent().input(high).output(type, {4}).expect({{-5, 0, 3, 4}});
    KernelCase none(BP_OP_CLIP);
    none.input(x).output(type, {4}).expect({{-5, 0, 3, 9}});
  }
}

TEST(ClipTest, UpperBoundWinsAndNanStays) {
  const TestTensor low(BP_TYPE_F32, {}, {2}), high(BP_TYPE_F32, {}, {1});
  KernelCase c(BP_OP_CLIP);
  c.input(TestTensor(BP_TYPE_F32, {3}, {0, 5, std::nan("")})).input(low).input(high).output(BP_TYPE_F32, {3});
  c.expect({{1, 1, std::nan("")}});
}

TEST(ClipTest, BoundThatIsNanMakesAllNan) {
  const TestTensor nan(BP_TYPE_F32, {}, {std::nan("")});
  KernelCase c(BP_OP_CLIP);
  c.input(TestTensor(BP_TYPE_F32, {2}, {0, 5})).absent().input(nan).output(BP_TYPE_F32, {2});
  c.expect({{std::nan(""), std::nan("")}});
}

TEST(ClipTest, RefusesBoundsThatAreNotScalar) {
  KernelCase c(BP_OP_CLIP);
  c.input(TestTensor(BP_TYPE_F32, {2})).input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {2});
  EXPECT_NE(c.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
