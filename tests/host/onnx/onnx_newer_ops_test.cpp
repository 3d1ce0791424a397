// Ops and attributes that are newer than ONNX's test data in Debian. Expected values come from ONNX's definitions,
// evaluated element by element in double precision by a program apart from this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

void expect_near(const HostTensor& got, const Ints& shape, const std::vector<float>& wanted) {
  ASSERT_FALSE(got.is_null());
  EXPECT_EQ(got.shape(), shape);
  EXPECT_THAT(floats(got), Pointwise(FloatNear(2e-5F), wanted));
}

// (i * step % modulus) / divisor - shift for i = 0, 1 ...
HostTensor pattern(const Ints& shape, int64_t step, int64_t modulus, float divisor, float shift) {
  std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
  for (size_t at = 0; at < values.size(); ++at)
    values[at] = static_cast<float>(static_cast<int64_t>(at) * step % modulus) / divisor - shift;
  return f32s(shape, values);
}

HostTensor resized(const HostTensor& x, const std::string& mode, const std::vector<float>& scales,
                   std::vector<AttributeDef> attributes, const std::vector<float>& roi = {0}) {
  attributes.push_back({"mode", mode});
  attributes.push_back({"antialias", int64_t{1}});
  return run_case({19,
                   "Resize",
                   std::move(attributes),
                   {{"roi", f32s({static_cast<int64_t>(roi.size())}, roi)},
                    {"scales", f32s({static_cast<int64_t>(scales.size())}, scales)}}},
                  x)[0];
}

TEST(OnnxNewerOps, ResizeWithAntialias) {
  const HostTensor x = f32s({1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  expect_near(resized(x, "linear", {1, 0.6F, 0.6F}, {}), {1, 2, 2}, {2.875F, 4.5F, 9.375F, 11});
  expect_near(resized(x, "cubic", {1, 0.6F, 0.6F}, {}), {1, 2, 2}, {2.5180723F, 4.2858864F, 9.5893287F, 11.3571429F});
  const HostTensor row = f32s({2, 7}, {1, 5, 2, 8, 3, 9, 4, 6, 0, 7, 1, 8, 2, 9});
  const auto shrunk = [&](const std::string& mode, AttributeDef how, const std::vector<float>& roi = {0}) {
    return resized(row, mode, {1, 0.5F}, {std::move(how), {"extrapolation_value", 10.0}}, roi);
  };
  const AttributeDef exclude{"exclude_outside", int64_t{1}};
  const auto by = [](const char* name) { return AttributeDef{"coordinate_transformation_mode", std::string(name)}; };
  expect_near(shrunk("linear", exclude), {2, 3}, {2.8571429F, 4.75F, 6, 3.5714286F, 4, 5});
  expect_near(shrunk("cubic", exclude), {2, 3},
              {2.5800416F, 4.7600768F, 6.2135037F, 3.5758836F, 3.9136276F, 4.9835766F});
  expect_near(shrunk("cubic", by("align_corners")), {2, 3},
              {1.859375F, 4.744875F, 6.369F, 4.453125F, 3.787625F, 4.99775F});
  expect_near(resized(row, "linear", {1, 0.6F}, {by("half_pixel_symmetric")}), {2, 4},
              {2.8125F, 4.2941176F, 5.5294118F, 6.125F, 3.4375F, 4, 4.8823529F, 5.875F});
  expect_near(shrunk("cubic", by("asymmetric")), {2, 3},
              {1.859375F, 4.390625F, 6.125F, 4.453125F, 3.421875F, 4.46875F});
  expect_near(shrunk("cubic", by("tf_crop_and_resize"), {0, 0.2F, 1, 1.5F}), {2, 3},
              {3.493125F, 6.313416F, 10, 3.107375F, 4.589726F, 10});
  const HostTensor grown = resized(f32s({2, 3}, {1, 5, 2, 6, 0, 7}), "cubic", {1, 1.5F}, {exclude});
  expect_near(grown, {2, 4},
              {0.5945946F, 3.0857143F, 4.8668942F, 2.4600639F, 6.6081081F, 2.6571429F, 0.5949943F, 5.9797658F});
}

TEST(OnnxNewerOps, DeformConv) {
  const std::vector<std::pair<std::string, HostTensor>> inputs{{"w", pattern({4, 2, 2, 3}, 5, 7, 4, 0.75F)},
                                                               {"offset", pattern({2, 24, 3, 3}, 13, 17, 4, 2)},
                                                               {"b", f32s({4}, {1, 2, 3, 4})},
                                                               {"mask", pattern({2, 12, 3, 3}, 3, 5, 4, 0)}};
  const auto y = run_case({19,
                           "DeformConv",
                           {{"pads", Ints{1, 1, 0, 1}},
                            {"strides", Ints{1, 2}},
                            {"dilations", Ints{2, 1}},
                            {"group", int64_t{2}},
                            {"offset_group", int64_t{2}}},
                           inputs},
                          pattern({2, 4, 4, 5}, 7, 11, 2, 2))[0];
  expect_near(y, {2, 4, 3, 3},
              {1.1171875F,  0.859375F,   2.171875F,   0.8125F,     0.890625F,   1.F,         1.12890625F, -0.99804688F,
               0.8203125F,  1.6484375F,  1.625F,      1.8125F,     1.53125F,    1.5078125F,  1.65625F,    1.91796875F,
               3.67578125F, 2.0859375F,  3.63867188F, 4.27734375F, 2.4140625F,  3.60546875F, 1.22460938F, 1.96875F,
               3.875F,      2.7421875F,  2.57226562F, 3.19335938F, 4.36328125F, 5.3828125F,  3.92578125F, 4.8828125F,
               5.375F,      4.F,         5.1640625F,  4.38867188F, 1.6875F,     0.2890625F,  1.07617188F, 1.39257812F,
               1.2421875F,  0.97265625F, -0.3125F,    1.7265625F,  1.82617188F, 1.671875F,   2.2109375F,  2.1171875F,
               2.75F,       2.4609375F,  1.90625F,    2.24023438F, 1.94921875F, 3.92773438F, 2.87890625F, 3.53125F,
               3.03125F,    4.125F,      3.4140625F,  3.34570312F, 4.0703125F,  3.87695312F, 4.18359375F, 3.234375F,
               3.8203125F,  4.65625F,    4.9375F,     2.8359375F,  3.32617188F, 4.25F,       5.015625F,   3.88085938F});
}

TEST(OnnxNewerOps, AffineGrid) {
  const HostTensor plane = f32s({1, 2, 3}, {1, 2, 0.5F, -1, 0.25F, 1});
  const auto grid = [](const HostTensor& theta, const Ints& size, int64_t align_corners) {
    return run_case({20,
                     "AffineGrid",
                     {{"align_corners", align_corners}},
                     {{"size", i64s({static_cast<int64_t>(size.size())}, size)}}},
                    theta)[0];
  };
  expect_near(grid(plane, {1, 5, 2, 3}, 0), {1, 2, 3, 2},
              {-1.1666667F, 1.5416667F, -0.5F, 0.875F, 0.1666667F, 0.2083333F, 0.8333333F, 1.7916667F, 1.5F, 1.125F,
               2.1666667F, 0.4583333F});
  expect_near(grid(plane, {1, 5, 2, 3}, 1), {1, 2, 3, 2},
              {-2.5F, 1.75F, -1.5F, 0.75F, -0.5F, -0.25F, 1.5F, 2.25F, 2.5F, 1.25F, 3.5F, 0.25F});
  expect_near(grid(f32s({1, 3, 4}, {1, 2, 0.5F, 0.25F, -1, 0.25F, 1, 0, 0, 1, -1, 0.5F}), {1, 5, 2, 1, 2}, 0),
              {1, 2, 1, 2, 3}, {-0.5F, 0, 1, 0.5F, -1, 1, 0, 1, 0, 1, 0, 0});
}

TEST(OnnxNewerOps, LpPoolOfWindowsThatOverhang) {
  std::vector<float> values;
  for (int at = 0; at < 25; ++at) values.push_back(static_cast<float>(at / 5 % 2 ? at + 1 : -at - 1));
  const HostTensor x = f32s({1, 1, 5, 5}, values);
  const auto pooled = [&](int64_t kernel, int64_t stride, int64_t pad, int64_t p) {
    return run_case({18,
                     "LpPool",
                     {{"kernel_shape", Ints{kernel, kernel}},
                      {"strides", Ints{stride, stride}},
                      {"pads", Ints{pad, pad, pad, pad}},
                      {"ceil_mode", int64_t{1}},
                      {"p", p}},
                     {}},
                    x)[0];
  };
  expect_near(
      pooled(2, 2, 0, 3), {1, 1, 3, 3},
      {8.2816355F, 11.0027541F, 10.4004191F, 22.9374482F, 26.0275841F, 22.4897072F, 27.1029449F, 29.621542F, 25});
  expect_near(pooled(3, 2, 1, 2), {1, 1, 3, 3},
              {9.486833F, 14.9331845F, 14.8996644F, 29.9165506F, 40.9511905F, 36.9188299F, 38.340579F, 50.6260802F,
               44.2944692F});
  expect_near(pooled(2, 3, 1, 1), {1, 1, 2, 2}, {1, 7, 27, 64});
  expect_near(run_case({7, "GlobalLpPool", {{"p", int64_t{3}}}, {}}, f32s({1, 1, 3}, {1, -2, 3}))[0], {1, 1, 1},
              {3.3019272F});
}

TEST(OnnxNewerOps, ParametersOfBlocks) {
  const HostTensor x = f32s({2, 5}, {1, 2, 3, 4, 5, -1, -2, -3, -4, 60});
  const std::vector<std::pair<std::string, HostTensor>> scales{{"s", f32s({2, 3}, {1, 0.5F, 2, 0.25F, 1, 0.5F})}};
  const auto whole = run_case({21, "QuantizeLinear", {{"axis", int64_t{1}}, {"block_size", int64_t{2}}}, scales}, x)[0];
  const std::vector<uint8_t> wanted{1, 2, 6, 8, 2, 0, 0, 0, 0, 120};  // 5 / 2 rounds to even
  ASSERT_EQ(whole.dtype(), DType::kU8);
  EXPECT_EQ(std::vector<uint8_t>(whole.data<uint8_t>(), whole.data<uint8_t>() + 10), wanted);
  std::vector<std::pair<std::string, HostTensor>> rows{{"s", f32s({2, 2}, {2, 3, 5, 7})}};
  const HostTensor q = HostTensor::of<int32_t>(DType::kI32, {3, 2}, std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  expect_near(run_case({21, "DequantizeLinear", {{"axis", int64_t{0}}, {"block_size", int64_t{2}}}, rows}, q)[0],
              {3, 2}, {2, 6, 6, 12, 25, 42});
  Model wrong{"",
              21,
              "",
              {{make_node("DequantizeLinear", {"x", "s"}, {"y"}, {{"block_size", int64_t{2}}})},
               {rows[0]},
               {make_input("x", DType::kI32, {3, 2})},
               {"y"}}};
  EXPECT_THAT(import_model(wrong).status().message(), HasSubstr("need parameters [3, 1], found [2, 2]"));
  wrong.graph.nodes[0].attributes.clear();
  EXPECT_THAT(import_model(wrong).status().message(), HasSubstr("need a block_size"));
}

}  // namespace
}  // namespace backplane::onnx_import
