#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

using Scales = std::vector<double>;

// The expected values of the first tests are those of the examples in ONNX's documentation of Resize.
const TestTensor kSquare(BP_TYPE_F32, {1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});

TEST(ResizeTest, NearestDownsample) {
  KernelCase c(BP_OP_RESIZE);
  c.input(TestTensor(BP_TYPE_F32, {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})).output(BP_TYPE_F32, {1, 1, 1, 2});
  c.attr(BP_ATTR_SCALES, Scales{1, 1, 0.6, 0.6}).expect({{1, 3}});
}

TEST(ResizeTest, NearestUpsampleOfAnyType) {
  for (const uint32_t type : {BP_TYPE_F32, BP_TYPE_F16, BP_TYPE_I64, BP_TYPE_U8}) {
    KernelCase c(BP_OP_RESIZE);
    c.input(TestTensor(type, {1, 1, 2, 2}, {1, 2, 3, 4})).output(type, {1, 1, 4, 6});
    c.attr(BP_ATTR_SCALES, Scales{1, 1, 2, 3});
    c.expect({{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}});
  }
}

TEST(ResizeTest, NearestModes) {
  const TestTensor x(BP_TYPE_F32, {4}, {0, 1, 2, 3});
  const auto run = [&x](const char* nearest, const char* coordinates, const Values& expected) {
    KernelCase c(BP_OP_RESIZE);
    c.input(x).output(BP_TYPE_F32, {8}).attr(BP_ATTR_NEAREST_MODE, nearest).attr(BP_ATTR_COORDINATE_MODE, coordinates);
    c.expect({expected});
  };
  run("floor", "asymmetric", {0, 0, 1, 1, 2, 2, 3, 3});
  run("ceil", "asymmetric", {0, 1, 1, 2, 2, 3, 3, 3});
  run("round_prefer_floor", "asymmetric", {0, 0, 1, 1, 2, 2, 3, 3});
  run("round_prefer_ceil", "asymmetric", {0, 1, 1, 2, 2, 3, 3, 3});
  run("round_prefer_floor", "half_pixel", {0, 0, 1, 1, 2, 2, 3, 3});
  run("floor", "align_corners", {0, 0, 0, 1, 1, 2, 2, 3});
}

TEST(ResizeTest, LinearUpsample) {
  KernelCase c(BP_OP_RESIZE);
  c.input(TestTensor(BP_TYPE_F32, {1, 1, 2, 2}, {1, 2, 3, 4})).output(BP_TYPE_F32, {1, 1, 4, 4});
  c.attr(BP_ATTR_MODE, "linear").attr(BP_ATTR_SCALES, Scales{1, 1, 2, 2});
  c.expect({{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}}, {1e-6, 0});
}

TEST(ResizeTest, LinearAlignCorners) {
  KernelCase c(BP_OP_RESIZE);
  c.input(TestTensor(BP_TYPE_F32, {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})).output(BP_TYPE_F32, {1, 1, 1, 2});
  c.attr(BP_ATTR_MODE, "linear")
      .attr(BP_ATTR_COORDINATE_MODE, "align_corners")
      .attr(BP_ATTR_SCALES, Scales{1, 1, 0.6, 0.6});
  c.expect({{1, 1 + 3 / 1.4}}, {1e-6, 0});  // the output's length is 4 * 0.6, not rounded
}

TEST(ResizeTest, CubicDownsample) {
  KernelCase c(BP_OP_RESIZE);
  c.input(kSquare)
      .output(BP_TYPE_F32, {1, 1, 3, 3})
      .attr(BP_ATTR_MODE, "cubic")
      .attr(BP_ATTR_SCALES, Scales{1, 1, 0.8, 0.8});
  c.expect(
      {{1.47119141, 2.78125, 4.08251953, 6.71142578, 8.02148438, 9.32275391, 11.91650391, 13.2265625, 14.52783203}},
      {1e-6, 0});
}

TEST(ResizeTest, CubicExcludeOutside) {
  KernelCase c(BP_OP_RESIZE);
  c.input(kSquare)
      .output(BP_TYPE_F32, {1, 1, 3, 3})
      .attr(BP_ATTR_MODE, "cubic")
      .attr(BP_ATTR_SCALES, Scales{1, 1, 0.8, 0.8});
  c.attr(BP_ATTR_CUBIC_COEFF_A, -0.5).attr(BP_ATTR_EXCLUDE_OUTSIDE, 1);
  c.expect({{1.36812675, 2.6695014, 4.0133367, 6.57362535, 7.875, 9.2188353, 11.94896657, 13.25034122, 14.59417652}},
           {1e-6, 0});
}

TEST(ResizeTest, WideIntegersAreInterpolated) {
  for (const uint32_t type : {BP_TYPE_I64, BP_TYPE_U64}) {
    KernelCase c(BP_OP_RESIZE);
    c.input(TestTensor(type, {2}, {2, 10})).output(type, {4}).attr(BP_ATTR_MODE, "linear");
    c.expect({{2, 4, 8, 10}});
  }
}

TEST(ResizeTest, CropAndResizeExtrapolates) {
  KernelCase c(BP_OP_RESIZE);
  c.input(kSquare).output(BP_TYPE_F32, {1, 1, 3, 3}).attr(BP_ATTR_MODE, "linear");
  c.attr(BP_ATTR_COORDINATE_MODE, "tf_crop_and_resize").attr(BP_ATTR_ROI, Scales{0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7});
  c.attr(BP_ATTR_EXTRAPOLATION_VALUE, 10.0).attr(BP_ATTR_SIZES, std::vector<int64_t>{1, 1, 3, 3});
  c.expect({{7.6, 10, 10, 12.4, 10, 10, 10, 10, 10}}, {1e-6, 1e-5});
}

TEST(ResizeTest, StridesAndTypesGiveTheSame) {
  Random random(7);
  const TestTensor x = TestTensor::random(BP_TYPE_F64, {2, 3, 7, 9}, random);
  const auto attrs = [](KernelCase& c) { c.attr(BP_ATTR_MODE, "linear").attr(BP_ATTR_COORDINATE_MODE, "asymmetric"); };
  KernelCase dense(BP_OP_RESIZE);
  attrs(dense.input(x).output(BP_TYPE_F64, {2, 3, 11, 520}));
  const Values expected = dense.run()[0].values();
  KernelCase strided(BP_OP_RESIZE);
  attrs(strided.input(x.scattered(random)).output(TestTensor(BP_TYPE_F64, {2, 3, 11, 520}).scattered(random)));
  strided.expect({expected}, {1e-13, 1e-13});
  KernelCase single(BP_OP_RESIZE);
  attrs(single.input(TestTensor(BP_TYPE_F32, x.shape, x.values()).scattered(random))
            .output(BP_TYPE_F32, {2, 3, 11, 520}));
  single.expect({expected}, {1e-5, 1e-6});
  KernelCase half(BP_OP_RESIZE);
  attrs(half.input(TestTensor(BP_TYPE_F16, x.shape, x.values())).output(BP_TYPE_F16, {2, 3, 11, 520}));
  half.expect({expected}, {5e-3, 5e-3});
}

TEST(ResizeTest, Refusals) {
  KernelCase mode(BP_OP_RESIZE);
  mode.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {3}).attr(BP_ATTR_COORDINATE_MODE, "sideways");
  EXPECT_NE(mode.refusal(), "");
  KernelCase antialias(BP_OP_RESIZE);
  antialias.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {3}).attr(BP_ATTR_ANTIALIAS, 1);
  EXPECT_NE(antialias.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
