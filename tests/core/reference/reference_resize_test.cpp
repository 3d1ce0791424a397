#include "evaluation.hpp"

namespace backplane::reference {
namespace {

AttrList to(I64s sizes, const std::string& mode, const std::string& coordinates = "half_pixel") {
  return {{BP_ATTR_SIZES, sizes}, {BP_ATTR_MODE, mode}, {BP_ATTR_COORDINATE_MODE, coordinates}};
}

TEST(ReferenceResize, PytorchHalfPixelLooksAtTheRoundedLength) {
  const AttrList attrs = {{BP_ATTR_SIZES, I64s{1}},
                          {BP_ATTR_SCALES, F64s{0.75}},
                          {BP_ATTR_MODE, std::string("linear")},
                          {BP_ATTR_COORDINATE_MODE, std::string("pytorch_half_pixel")}};
  EXPECT_EQ(values<float>(output(Op::kRESIZE, {f32({2}, {3, 7})}, attrs)), (std::vector<float>{3}));
}

TEST(ReferenceResize, NearestRepeatsAndSkips) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(values<int64_t>(output(Op::kRESIZE, {i64({2}, {big, 2})}, to({4}, "nearest"))), (I64s{big, big, 2, 2}));
  // Coordinates 0.5 and 2.5: ties, resolved by the mode.
  const HostTensor x = f32({4}, {0, 1, 2, 3});
  const auto nearest = [&](const std::string& rounding) {
    AttrList attrs = to({2}, "nearest");
    attrs.set(BP_ATTR_NEAREST_MODE, rounding);
    return values<float>(output(Op::kRESIZE, {x}, attrs));
  };
  EXPECT_EQ(nearest("round_prefer_floor"), (std::vector<float>{0, 2}));
  EXPECT_EQ(nearest("round_prefer_ceil"), (std::vector<float>{1, 3}));
  EXPECT_EQ(nearest("floor"), (std::vector<float>{0, 2}));
  EXPECT_EQ(nearest("ceil"), (std::vector<float>{1, 3}));
}

TEST(ReferenceResize, ExactRatiosLandOnElements) {
  // 7 -> 21 and back: asymmetric with floor must hit every third element exactly.
  std::vector<float> numbers;
  for (int i = 0; i < 21; ++i) numbers.push_back(static_cast<float>(i));
  AttrList attrs = to({7}, "nearest", "asymmetric");
  attrs.set(BP_ATTR_NEAREST_MODE, std::string("floor"));
  EXPECT_EQ(values<float>(output(Op::kRESIZE, {f32({21}, numbers)}, attrs)),
            (std::vector<float>{0, 3, 6, 9, 12, 15, 18}));
}

TEST(ReferenceResize, LinearCoordinateModes) {
  const HostTensor x = f32({2}, {0, 4});
  const auto linear = [&](int64_t size, const std::string& coordinates) {
    return values<float>(output(Op::kRESIZE, {x}, to({size}, "linear", coordinates)));
  };
  EXPECT_EQ(linear(4, "half_pixel"), (std::vector<float>{0, 1, 3, 4}));
  EXPECT_EQ(linear(5, "align_corners"), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(linear(4, "asymmetric"), (std::vector<float>{0, 2, 4, 4}));
  EXPECT_EQ(linear(1, "half_pixel"), (std::vector<float>{2}));
  EXPECT_EQ(linear(1, "pytorch_half_pixel"), (std::vector<float>{0}));
  EXPECT_EQ(linear(1, "align_corners"), (std::vector<float>{0}));
  EXPECT_EQ(linear(4, "half_pixel_symmetric"), (std::vector<float>{0, 1, 3, 4}));
}

TEST(ReferenceResize, TwoAxes) {
  // The example of the ONNX documentation: upsampling [[1, 2], [3, 4]] by 2.
  EXPECT_EQ(
      values<float>(output(Op::kRESIZE, {f32({1, 1, 2, 2}, {1, 2, 3, 4})}, to({1, 1, 4, 4}, "linear"))),
      (std::vector<float>{1, 1.25f, 1.75f, 2, 1.5f, 1.75f, 2.25f, 2.5f, 2.5f, 2.75f, 3.25f, 3.5f, 3, 3.25f, 3.75f, 4}));
}

TEST(ReferenceResize, GivenScalesDecideTheCoordinates) {
  // floor(4 * 0.6) = 2, and the step is 1 / 0.6, not 4 / 2.
  AttrList attrs = to({2}, "linear", "asymmetric");
  attrs.set(BP_ATTR_SCALES, F64s{0.6});
  expect_near(output(Op::kRESIZE, {f32({4}, {0, 1, 2, 3})}, attrs), {0, 1.6666666f});
}

TEST(ReferenceResize, Cubic) {
  // At coordinate 1.5 of a = -0.5: weights -1/16, 9/16, 9/16, -1/16.
  AttrList attrs = to({2}, "cubic");
  attrs.set(BP_ATTR_CUBIC_COEFF_A, -0.5);
  const HostTensor x = f32({4}, {16, 0, 32, 0});
  // Coordinates 0.5 and 2.5; the edge element stands in for the one outside.
  EXPECT_EQ(values<float>(output(Op::kRESIZE, {x}, attrs)), (std::vector<float>{-1 + 9 + 0 - 2, 0 + 18 + 0 - 0}));
  attrs.set(BP_ATTR_EXCLUDE_OUTSIDE, int64_t{1});  // the other weights then sum to 17/16
  expect_near(output(Op::kRESIZE, {x}, attrs), {(9 - 2) * 16 / 17.f, 18 * 16 / 17.f});
}

TEST(ReferenceResize, CropAndExtrapolate) {
  AttrList attrs = to({3}, "linear", "tf_crop_and_resize");
  attrs.set(BP_ATTR_ROI, F64s{0.5, 1.5});
  attrs.set(BP_ATTR_EXTRAPOLATION_VALUE, -7.0);
  const HostTensor x = f32({3}, {10, 20, 30});
  EXPECT_EQ(values<float>(output(Op::kRESIZE, {x}, attrs)), (std::vector<float>{20, 30, -7}));
  attrs.set(BP_ATTR_MODE, std::string("nearest"));
  EXPECT_EQ(values<float>(output(Op::kRESIZE, {x}, attrs)), (std::vector<float>{20, 30, -7}));
}

TEST(ReferenceResize, IntegersTruncate) {
  EXPECT_EQ(values<uint8_t>(output(Op::kRESIZE, {u8({2}, {0, 255})}, to({4}, "linear"))),
            (std::vector<uint8_t>{0, 63, 191, 255}));
}

}  // namespace
}  // namespace backplane::reference
