#include "input_value.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "common.hpp"

namespace backplane::cli {
namespace {

OnnxInput make_input(DType dtype, const Shape& extents) {
  OnnxInput input;
  input.name = "x";
  input.dtype = dtype;
  for (const int64_t extent : extents) input.dims.push_back({extent, ""});
  return input;
}

std::string value_text(const OnnxInput& input, const std::string& text, std::optional<Shape> shape = {}) {
  const Result<HostTensor> value = parse_input_value(input, shape, text);
  return value.ok() ? value->to_string()
                    : std::string(exit_code(value.status()) == ExitCode::usage ? "usage" : "error");
}

const std::string kPixels = BACKPLANE_TEST_DATA "/pixels.png";

TEST(InputValue, ShapesAreListsOfExtents) {
  EXPECT_EQ(*parse_shape("1,3,48,320"), (Shape{1, 3, 48, 320}));
  EXPECT_EQ(*parse_shape(""), Shape());
  for (const char* text : {"1,", ",1", "a", "-1", "1 2", "1.5", "99999999999999999999"})
    EXPECT_FALSE(parse_shape(text).ok()) << text;
}

TEST(InputValue, NumbersTakeTheShapeTheyAreWrittenIn) {
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, -1}), "[[1, 2], [3, 4], [5, 6]]"), "f32 [3, 2]");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1}), "[]"), "f32 [0]");
  EXPECT_EQ(value_text(make_input(DType::kI64, {-1}), "[1, 2.5]"), "error");
  EXPECT_EQ(value_text(make_input(DType::kI64, {-1, -1}), "[[1], 2]"), "error");
  EXPECT_EQ(value_text(make_input(DType::kI64, {-1, -1}), "[[1], [2, 3]]"), "error");
  EXPECT_EQ(value_text(make_input(DType::kI64, {}), "one"), "usage");
}

TEST(InputValue, ShapesAreCheckedBeforeAnythingIsMadeOfThem) {
  const OnnxInput fixed = make_input(DType::kF32, {1, 24});
  for (const char* text : {"shape:1,99999999999999", "random:1,99999999999999", "zeros:1", "shape:"}) {
    const auto value = parse_input_value(fixed, {}, text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_NE(value.status().message().find("[1, 24]"), std::string::npos) << value.status().message();
  }
  const auto value = parse_input_value(make_input(DType::kF32, {-1}), {}, "shape:99999999999999");
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().code(), Code::resource_exhausted) << "more than any machine has";
}

TEST(InputValue, APlainNumberFitsAnyInputOfOneElement) {
  EXPECT_EQ(value_text(make_input(DType::kI64, {}), "16000"), "i64 []");
  EXPECT_EQ(value_text(make_input(DType::kI64, {1}), "16000"), "i64 [1]");
  EXPECT_EQ(value_text(make_input(DType::kI64, {-1}), "16000"), "i64 [1]");
  EXPECT_EQ(value_text(make_input(DType::kI64, {1, 1}), "16000"), "i64 [1, 1]");
}

TEST(InputValue, RandomNumbersAreTheSameEveryTimeAndInRange) {
  const OnnxInput input = make_input(DType::kF32, {-1});
  const auto first = parse_input_value(input, {}, "random:1000"), second = parse_input_value(input, {}, "random:1000");
  ASSERT_TRUE(first.ok() && second.ok());
  const float* values = first->data<float>();
  EXPECT_TRUE(std::equal(values, values + 1000, second->data<float>()));
  EXPECT_GE(*std::min_element(values, values + 1000), 0.0f);
  EXPECT_LE(*std::max_element(values, values + 1000), 1.0f);
  EXPECT_LT(*std::min_element(values, values + 1000), 0.1f);
  EXPECT_GT(*std::max_element(values, values + 1000), 0.9f);
  EXPECT_EQ(value_text(make_input(DType::kBOOL, {4}), "random"), "bool [4]");
}

TEST(InputValue, ZerosNeedAShape) {
  EXPECT_EQ(value_text(make_input(DType::kF32, {2, 3}), "zeros"), "f32 [2, 3]");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 3}), "zeros"), "error");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 3}), "zeros", Shape{5, 3}), "f32 [5, 3]");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 3}), "shape:7,3"), "f32 [7, 3]");
}

TEST(InputValue, ImagesAreScaledToTheInput) {
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 3, -1, -1}), "@" + kPixels), "f32 [1, 3, 2, 2]");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 3, 4, -1}), "@" + kPixels), "f32 [1, 3, 4, 2]");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 3, -1, -1}), "@" + kPixels, Shape{1, 3, 6, 8}), "f32 [1, 3, 6, 8]");
  EXPECT_EQ(value_text(make_input(DType::kF32, {-1, 1, -1, -1}), "@" + kPixels), "error");
  EXPECT_EQ(value_text(make_input(DType::kF32, {2, 3, -1, -1}), "@" + kPixels), "error");
  EXPECT_EQ(value_text(make_input(DType::kU8, {1, 3, 2, 2}), "@" + kPixels), "error");
}

TEST(InputValue, ImagesTakeMeanScaleAndChannelOrder) {
  const OnnxInput input = make_input(DType::kF32, {1, 3, 2, 2});
  const auto plain = parse_input_value(input, {}, "@" + kPixels + ",mean=0.5,scale=0.25");
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  EXPECT_FLOAT_EQ(plain->data<float>()[0], 2);   // red of the red pixel
  EXPECT_FLOAT_EQ(plain->data<float>()[4], -2);  // its green
  const auto channels = parse_input_value(input, {}, "@" + kPixels + ",bgr,mean=0:0:1");
  ASSERT_TRUE(channels.ok()) << channels.status().to_string();
  EXPECT_FLOAT_EQ(channels->data<float>()[0], 0);
  EXPECT_FLOAT_EQ(channels->data<float>()[8], 0);
  EXPECT_FLOAT_EQ(channels->data<float>()[9], -1);
  for (const char* option : {",scale=0", ",mean=x", ",mean=1:2", ",mean="})
    EXPECT_EQ(value_text(input, "@" + kPixels + option), "usage") << option;
}

TEST(InputValue, KnowsFilesByTheirEnding) {
  EXPECT_EQ(value_text(make_input(DType::kI64, {}), "@" BACKPLANE_TEST_DATA "/golden/silero-vad-16k-op15/in-sr.npy"),
            "i64 []");
  EXPECT_EQ(value_text(make_input(DType::kF32, {}), "@x.bin"), "usage");
}

}  // namespace
}  // namespace backplane::cli
