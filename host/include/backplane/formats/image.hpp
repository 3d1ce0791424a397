// PNG and JPEG pictures as 8-bit RGB, resized, and as input tensors of vision models.
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane {

struct Image {
  uint32_t width = 0, height = 0;  // pixels
  std::vector<uint8_t> rgb;        // rows from the top, 3 bytes a pixel

  Image() = default;
  Image(uint32_t width_pixels, uint32_t height_pixels)
      : width(width_pixels), height(height_pixels), rgb(size_t{3} * width_pixels * height_pixels) {}
  const uint8_t* pixel(uint32_t x, uint32_t y) const { return rgb.data() + 3 * (size_t{y} * width + x); }
  uint8_t* pixel(uint32_t x, uint32_t y) { return rgb.data() + 3 * (size_t{y} * width + x); }
};

// Pictures beyond these are refused before anything is decoded.
inline constexpr uint32_t kMaxImageSide = 16384;
inline constexpr uint64_t kMaxImagePixels = uint64_t{1} << 26;

// Decodes a file; grey becomes RGB, 16 bits become 8, transparency and the EXIF orientation are ignored.
// Errors: not_found; invalid_argument for a file that is neither PNG nor JPEG, is damaged, or is too large.
Result<Image> read_image(const std::string& path);
Result<Image> parse_image(std::string_view bytes, const std::string& name);

// Resamples with bilinear interpolation between pixel centres, without antialiasing, as vision models are trained
// with. REQUIRES: no side is 0.
Image resize_image(const Image& image, uint32_t width, uint32_t height);

// How pixels become numbers: (x / 255 - mean) / scale by channel, in the order of the tensor's channels.
struct ImageScaling {
  std::array<float, 3> mean = {0, 0, 0};
  std::array<float, 3> scale = {1, 1, 1};
  bool bgr = false;  // blue first
};

// Writes one image as planes [3, height, width]. REQUIRES: `planes` holds 3 * width * height floats.
void image_to_planes(const Image& image, const ImageScaling& scaling, float* planes);

// The image as f32 [1, 3, height, width].
Result<HostTensor> image_tensor(const Image& image, const ImageScaling& scaling = {});

}  // namespace backplane
