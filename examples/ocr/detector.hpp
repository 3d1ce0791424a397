// Detector: where in a picture there is text.
//
// The model gives a map of probabilities; each connected region above a threshold becomes a rotated rectangle, which
// is grown because the model is trained on shrunken regions (differentiable binarisation, DB).
// Thread safety: calls are serialised by the caller.
#pragma once

#include <vector>

#include "geometry.hpp"
#include "network.hpp"

namespace ocr {

struct TextBox {
  Quad corners;  // in pixels of the picture
  double score;  // mean probability inside
};

struct DetectorOptions {
  uint32_t max_side = 960;       // larger pictures are scaled down
  double pixel_threshold = 0.3;  // of the probability map
  double box_threshold = 0.6;    // of a box's score
  double grow_ratio = 1.6;       // outward distance = area * ratio / perimeter
  double min_side = 3;           // of a region, in pixels of the map
};

class Detector {
 public:
  explicit Detector(Network network, DetectorOptions options = {}) : network_(std::move(network)), options_(options) {}

  // The boxes in reading order: top to bottom, then left to right.
  backplane::Result<std::vector<TextBox>> detect(const backplane::Image& image);
  const Network& network() const { return network_; }

 private:
  Network network_;
  DetectorOptions options_;
};

// The probability map of the model, row by row.
struct ProbabilityMap {
  uint32_t width, height;
  const float* values;
};

// Boxes in coordinates of the map, as they come.
std::vector<TextBox> find_boxes(const ProbabilityMap& map, const DetectorOptions& options);

}  // namespace ocr
