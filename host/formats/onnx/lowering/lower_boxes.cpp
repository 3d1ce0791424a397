// NonMaxSuppression, where boxes and scores are known: how many boxes stay depends on them.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

// Corners with the smaller coordinates first; the axes may be in either order.
struct Box {
  float y0, x0, y1, x1;
  float area() const { return (y1 - y0) * (x1 - x0); }
};

Box box_of(const double* given, bool by_centre) {
  std::array<float, 4> v;
  std::copy(given, given + 4, v.begin());
  if (by_centre) v = {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}

// Intersection over union.
float overlap(const Box& a, const Box& b) {
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

struct Limits {
  int64_t most;  // boxes for each class
  double overlap, score;
};

// Indices of the boxes that stay: best scores first, none that overlaps a better one too much.
std::vector<int64_t> kept(const std::vector<Box>& boxes, const double* scores, const Limits& limits) {
  std::vector<int64_t> order(boxes.size()), stay;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [scores](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t box : order) {
    if (static_cast<int64_t>(stay.size()) >= limits.most) break;
    if (!(scores[box] > limits.score)) continue;
    const bool alone = std::none_of(stay.begin(), stay.end(), [&](int64_t better) {
      return overlap(boxes[static_cast<size_t>(box)], boxes[static_cast<size_t>(better)]) >
             static_cast<float>(limits.overlap);
    });
    if (alone) stay.push_back(box);
  }
  return stay;
}

Result<double> scalar_or(NodeContext& c, size_t at, double fallback) {
  if (!c.has(at)) return fallback;
  BP_TRY_ASSIGN(const std::vector<double> values, c.in_f64s(at));
  if (values.size() != 1) return invalid_argument(cat("input ", at, " must have one element, found ", values.size()));
  return values[0];
}

Status non_max_suppression(NodeContext& c) {
  const std::vector<int64_t> shape = c.emit.shape(c.in(0)), score_shape = c.emit.shape(c.in(1));
  if (shape.size() != 3 || shape[2] != 4 || score_shape.size() != 3 || score_shape[0] != shape[0] ||
      score_shape[2] != shape[1]) {
    return invalid_argument(cat("it needs boxes [B, N, 4] and scores [B, C, N], found ", shape_text(shape), " and ",
                                shape_text(score_shape)));
  }
  BP_TRY_ASSIGN(const std::vector<double> corners, c.in_f64s(0));
  BP_TRY_ASSIGN(const std::vector<double> scores, c.in_f64s(1));
  BP_TRY_ASSIGN(const double most, scalar_or(c, 2, 0));
  BP_TRY_ASSIGN(const double overlap, scalar_or(c, 3, 0));
  BP_TRY_ASSIGN(const double least, scalar_or(c, 4, -std::numeric_limits<double>::infinity()));
  const Limits limits{static_cast<int64_t>(std::clamp(most, 0.0, 0x1p40)), overlap, least};
  std::vector<int64_t> rows;
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    std::vector<Box> boxes;
    for (int64_t box = 0; box < shape[1]; ++box)
      boxes.push_back(box_of(corners.data() + (batch * shape[1] + box) * 4, c.i64("center_point_box", 0) != 0));
    for (int64_t label = 0; label < score_shape[1]; ++label)
      for (const int64_t box : kept(boxes, scores.data() + (batch * score_shape[1] + label) * shape[1], limits))
        rows.insert(rows.end(), {batch, label, box});
  }
  return c.set(0, c.emit.constant(HostTensor::of<int64_t>(DType::kI64, {static_cast<int64_t>(rows.size() / 3), 3},
                                                          std::span<const int64_t>(rows))));
}

}  // namespace

std::span<const Lowering> box_lowerings() {
  static constexpr Lowering kRows[] = {{"NonMaxSuppression", 10, 2, non_max_suppression}};
  return kRows;
}

}  // namespace backplane::onnx_import
