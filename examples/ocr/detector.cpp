#include "detector.hpp"

#include <algorithm>
#include <cmath>

#include "backplane/base/text.hpp"

namespace ocr {

using namespace backplane;

namespace {

constexpr uint32_t kSideMultiple = 32;  // the model halves its input five times
constexpr double kSameLine = 10;        // pixels between tops of boxes that stand in one line

uint32_t network_side(uint32_t side, double ratio) {
  return std::max<uint32_t>(1, static_cast<uint32_t>(std::lround(side * ratio / kSideMultiple))) * kSideMultiple;
}

// Collects the region of pixels above the threshold around `start`, and marks it as seen.
std::vector<Point> collect_region(const ProbabilityMap& map, double threshold, uint32_t start,
                                  std::vector<bool>& seen) {
  std::vector<Point> region;
  std::vector<uint32_t> open = {start};
  seen[start] = true;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    const uint32_t x = at % map.width, y = at / map.width;
    region.push_back({static_cast<double>(x), static_cast<double>(y)});
    for (uint32_t ny = y - (y > 0); ny <= std::min(y + 1, map.height - 1); ++ny)
      for (uint32_t nx = x - (x > 0); nx <= std::min(x + 1, map.width - 1); ++nx) {
        const uint32_t next = ny * map.width + nx;
        if (seen[next] || !(map.values[next] > threshold)) continue;
        seen[next] = true;
        open.push_back(next);
      }
  }
  return region;
}

double mean_inside(const ProbabilityMap& map, const Quad& quad) {
  double x_min = quad[0].x, x_max = x_min, y_min = quad[0].y, y_max = y_min;
  for (const Point p : quad) {
    x_min = std::min(x_min, p.x);
    x_max = std::max(x_max, p.x);
    y_min = std::min(y_min, p.y);
    y_max = std::max(y_max, p.y);
  }
  const auto limit = [](double value, uint32_t size) { return std::clamp(value, 0.0, size - 1.0); };
  double sum = 0;
  uint64_t count = 0;
  for (double y = limit(std::floor(y_min), map.height); y <= limit(std::ceil(y_max), map.height); ++y)
    for (double x = limit(std::floor(x_min), map.width); x <= limit(std::ceil(x_max), map.width); ++x) {
      if (!contains(quad, {x, y})) continue;
      sum += map.values[static_cast<size_t>(y) * map.width + static_cast<size_t>(x)];
      ++count;
    }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

void sort_for_reading(std::vector<TextBox>& boxes) {
  std::sort(boxes.begin(), boxes.end(),
            [](const TextBox& a, const TextBox& b) { return a.corners[0].y < b.corners[0].y; });
  // Boxes of nearly the same height form a line, within which x decides.
  for (auto first = boxes.begin(); first != boxes.end();) {
    const double top = first->corners[0].y;
    const auto last =
        std::find_if(first, boxes.end(), [top](const TextBox& box) { return box.corners[0].y - top > kSameLine; });
    std::sort(first, last, [](const TextBox& a, const TextBox& b) { return a.corners[0].x < b.corners[0].x; });
    first = last;
  }
}

}  // namespace

std::vector<TextBox> find_boxes(const ProbabilityMap& map, const DetectorOptions& options) {
  std::vector<TextBox> boxes;
  std::vector<bool> seen(size_t{map.width} * map.height);
  for (uint32_t start = 0; start < seen.size(); ++start) {
    if (seen[start] || !(map.values[start] > options.pixel_threshold)) continue;
    const Quad core = min_area_rectangle(collect_region(map, options.pixel_threshold, start, seen));
    const double width = quad_width(core), height = quad_height(core);
    if (std::min(width, height) < options.min_side) continue;
    const double score = mean_inside(map, core);
    if (score < options.box_threshold) continue;
    boxes.push_back({grow_rectangle(core, width * height * options.grow_ratio / (2 * (width + height))), score});
  }
  return boxes;
}

Result<std::vector<TextBox>> Detector::detect(const Image& image) {
  const double ratio = std::min(1.0, static_cast<double>(options_.max_side) / std::max(image.width, image.height));
  const uint32_t width = network_side(image.width, ratio), height = network_side(image.height, ratio);
  // ImageNet's statistics, on channels in the order in which the model was trained: blue first.
  const ImageScaling scaling = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}, true};
  BP_TRY_ASSIGN(const HostTensor input, image_tensor(resize_image(image, width, height), scaling));
  BP_TRY_ASSIGN(const HostTensor output, network_.run(input));
  if (output.dtype() != DType::kF32 || output.shape() != std::vector<int64_t>{1, 1, height, width})
    return invalid_argument(cat("the detector gave ", output.to_string(), ", not one probability per pixel"));
  std::vector<TextBox> boxes = find_boxes({width, height, output.data<float>()}, options_);
  const double x_scale = static_cast<double>(image.width) / width, y_scale = static_cast<double>(image.height) / height;
  for (TextBox& box : boxes)
    for (Point& corner : box.corners)
      corner = {std::clamp(corner.x * x_scale, 0.0, image.width - 1.0),
                std::clamp(corner.y * y_scale, 0.0, image.height - 1.0)};
  sort_for_reading(boxes);
  return boxes;
}

}  // namespace ocr
