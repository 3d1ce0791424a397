#include "backplane/formats/image.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace backplane {
namespace {

const std::string kData = BACKPLANE_TEST_DATA;

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Image, DecodesPngIgnoringTransparency) {
  const auto image = read_image(kData + "/pixels.png");
  ASSERT_TRUE(image.ok()) << image.status().to_string();
  EXPECT_EQ(image->width, 2u);
  EXPECT_EQ(image->height, 2u);
  EXPECT_EQ(image->rgb, (std::vector<uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30}));
}

TEST(Image, DecodesGreyJpegAsRgb) {
  const auto image = read_image(kData + "/grey.jpg");
  ASSERT_TRUE(image.ok()) << image.status().to_string();
  EXPECT_EQ(image->width, 16u);
  EXPECT_EQ(image->height, 8u);
  for (const uint8_t value : image->rgb) EXPECT_NEAR(value, 100, 1);
}

TEST(Image, RefusesWhatIsNoImage) {
  EXPECT_EQ(read_image(kData + "/none.png").status().code(), Code::not_found);
  EXPECT_EQ(read_image(kData).status().code(), Code::invalid_argument);
  const auto text = parse_image("hello", "hello.txt");
  EXPECT_EQ(text.status().code(), Code::invalid_argument);
  EXPECT_NE(text.status().message().find("'hello.txt' is not a PNG or JPEG image"), std::string::npos);
  EXPECT_FALSE(parse_image("", "empty").ok());
}

TEST(Image, RefusesTruncatedPixels) {
  const std::string bytes = file_bytes(kData + "/text.png");
  ASSERT_GT(bytes.size(), 100u);
  for (const size_t size : {size_t{20}, size_t{40}, bytes.size() / 2})
    EXPECT_FALSE(parse_image(bytes.substr(0, size), "cut.png").ok()) << size;
}

TEST(Image, RefusesHugePicturesBeforeDecoding) {
  std::string bytes = file_bytes(kData + "/pixels.png");
  bytes[18] = bytes[22] = 0x3f;  // 16130 x 16130 pixels
  const auto image = parse_image(bytes, "huge.png");
  EXPECT_NE(image.status().message().find("pixels; at most"), std::string::npos) << image.status().to_string();
  bytes[16] = 1;
  EXPECT_FALSE(parse_image(bytes, "huger.png").ok());
}

TEST(Image, ResizesBetweenPixelCentres) {
  Image image(2, 1);
  image.rgb = {0, 0, 0, 100, 200, 40};
  const Image wide = resize_image(image, 4, 2);
  ASSERT_EQ(wide.rgb.size(), 24u);
  // Centres lie at -0.25, 0.25, 0.75 and 1.25 of the source.
  const std::vector<uint8_t> row = {0, 0, 0, 25, 50, 10, 75, 150, 30, 100, 200, 40};
  EXPECT_TRUE(std::equal(row.begin(), row.end(), wide.rgb.begin()));
  EXPECT_TRUE(std::equal(row.begin(), row.end(), wide.rgb.begin() + 12));
  EXPECT_EQ(resize_image(image, 2, 1).rgb, image.rgb);
  EXPECT_EQ(resize_image(image, 1, 1).rgb, (std::vector<uint8_t>{50, 100, 20}));
}

TEST(Image, BecomesPlanesWithScaling) {
  Image image(2, 1);
  image.rgb = {255, 0, 51, 0, 255, 102};
  const auto plain = image_tensor(image);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->to_string(), "f32 [1, 3, 1, 2]");
  const std::vector<float> rgb = {1, 0, 0, 1, 0.2f, 0.4f};
  for (size_t i = 0; i < rgb.size(); ++i) EXPECT_FLOAT_EQ(plain->data<float>()[i], rgb[i]) << i;
  ImageScaling scaling;
  scaling.mean = {0, 0, 0.5f};
  scaling.scale = {1, 1, 0.5f};
  scaling.bgr = true;
  const auto scaled = image_tensor(image, scaling);
  ASSERT_TRUE(scaled.ok());
  const std::vector<float> bgr = {0.2f, 0.4f, 0, 1, 1, -1};
  for (size_t i = 0; i < bgr.size(); ++i) EXPECT_FLOAT_EQ(scaled->data<float>()[i], bgr[i]) << i;
}

}  // namespace
}  // namespace backplane
