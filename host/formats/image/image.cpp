#include "backplane/formats/image.hpp"

#include <algorithm>
#include <cmath>

namespace backplane {
namespace {

// The two source positions that a target position lies between, and the weight of the second.
struct Tap {
  uint32_t low, high;
  float weight;
};

std::vector<Tap> make_taps(uint32_t from, uint32_t to) {
  std::vector<Tap> taps(to);
  const double ratio = static_cast<double>(from) / to;
  for (uint32_t i = 0; i < to; ++i) {
    const double at = std::clamp((i + 0.5) * ratio - 0.5, 0.0, static_cast<double>(from - 1));
    const auto low = static_cast<uint32_t>(at);
    taps[i] = {low, std::min(low + 1, from - 1), static_cast<float>(at - low)};
  }
  return taps;
}

}  // namespace

Image resize_image(const Image& image, uint32_t width, uint32_t height) {
  if (image.width == width && image.height == height) return image;
  Image out(width, height);
  const std::vector<Tap> columns = make_taps(image.width, width);
  const std::vector<Tap> rows = make_taps(image.height, height);
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      const Tap &row = rows[y], &column = columns[x];
      const uint8_t* corner[] = {image.pixel(column.low, row.low), image.pixel(column.high, row.low),
                                 image.pixel(column.low, row.high), image.pixel(column.high, row.high)};
      for (int c = 0; c < 3; ++c) {
        const float top = corner[0][c] + (corner[1][c] - corner[0][c]) * column.weight;
        const float bottom = corner[2][c] + (corner[3][c] - corner[2][c]) * column.weight;
        out.pixel(x, y)[c] = static_cast<uint8_t>(std::lround(top + (bottom - top) * row.weight));
      }
    }
  }
  return out;
}

void image_to_planes(const Image& image, const ImageScaling& scaling, float* planes) {
  const size_t plane = size_t{image.width} * image.height;
  for (size_t c = 0; c < 3; ++c) {
    const uint8_t* source = image.rgb.data() + (scaling.bgr ? 2 - c : c);
    for (size_t i = 0; i < plane; ++i)
      planes[c * plane + i] = (static_cast<float>(source[3 * i]) / 255.0f - scaling.mean[c]) / scaling.scale[c];
  }
}

Result<HostTensor> image_tensor(const Image& image, const ImageScaling& scaling) {
  BP_TRY_ASSIGN(HostTensor tensor, HostTensor::zeros(DType::kF32, {1, 3, image.height, image.width}));
  image_to_planes(image, scaling, tensor.mutable_data<float>());
  return tensor;
}

}  // namespace backplane
