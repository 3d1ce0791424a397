#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

using Pads = std::vector<int64_t>;

TEST(PadTest, Constant) {
  const TestTensor x(BP_TYPE_F32, {2, 2}, {1, 2, 3, 4});
  KernelCase c(BP_OP_PAD);
  c.input(x).output(BP_TYPE_F32, {3, 5}).attr(BP_ATTR_PADS, Pads{0, 1, 1, 2});
  c.expect({{0, 1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0}});
  KernelCase value(BP_OP_PAD);
  value.input(x)
      .input(TestTensor(BP_TYPE_F32, {}, {9}))
      .output(BP_TYPE_F32, {2, 3})
      .attr(BP_ATTR_PADS, Pads{0, 1, 0, 0});
  value.expect({{9, 1, 2, 9, 3, 4}});
}

TEST(PadTest, Modes) {
  const TestTensor x(BP_TYPE_I16, {3}, {1, 2, 3});
  const auto run = [&x](const char* mode, const Values& expected) {
    KernelCase c(BP_OP_PAD);
    c.input(x).output(BP_TYPE_I16, {7}).attr(BP_ATTR_PADS, Pads{2, 2}).attr(BP_ATTR_MODE, mode).expect({expected});
  };
  run("reflect", {3, 2, 1, 2, 3, 2, 1});
  run("edge", {1, 1, 1, 2, 3, 3, 3});
  run("wrap", {2, 3, 1, 2, 3, 1, 2});
}

TEST(PadTest, AnyStrides) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Pads pads;
    for (int i = 0; i < 6; ++i) pads.push_back(random.integer(0, 3));
    const Shape shape = {random.integer(0, 4), random.integer(1, 9), random.integer(1, 40)};
    const Shape out = {shape[0] + pads[0] + pads[3], shape[1] + pads[1] + pads[4], shape[2] + pads[2] + pads[5]};
    const TestTensor x = TestTensor::random(BP_TYPE_F64, shape, random);
    Values expected;
    for (int64_t i = 0; i < out[0]; ++i)
      for (int64_t j = 0; j < out[1]; ++j)
        for (int64_t k = 0; k < out[2]; ++k) {
          const int64_t a = i - pads[0], b = j - pads[1], c = k - pads[2];
          const bool inside = a >= 0 && a < shape[0] && b >= 0 && b < shape[1] && c >= 0 && c < shape[2];
          expected.push_back(inside ? x.get((a * shape[1] + b) * shape[2] + c) : 0);
        }
    KernelCase c(BP_OP_PAD);
    c.input(x.scattered(random)).output(TestTensor(BP_TYPE_F64, out).scattered(random)).attr(BP_ATTR_PADS, pads);
    c.expect({expected});
  }
}

TEST(PadTest, Refusals) {
  const TestTensor x(BP_TYPE_F32, {3}, {1, 2, 3});
  KernelCase far(BP_OP_PAD);
  far.input(x).output(BP_TYPE_F32, {6}).attr(BP_ATTR_PADS, Pads{3, 0}).attr(BP_ATTR_MODE, "reflect");
  EXPECT_NE(far.refusal(), "");
  KernelCase negative(BP_OP_PAD);
  EXPECT_NE(negative.input(x).output(BP_TYPE_F32, {2}).attr(BP_ATTR_PADS, Pads{-1, 0}).refusal(), "");
  KernelCase mode(BP_OP_PAD);
  mode.input(x).output(BP_TYPE_F32, {3}).attr(BP_ATTR_PADS, Pads{0, 0}).attr(BP_ATTR_MODE, "mirror");
  EXPECT_NE(mode.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
