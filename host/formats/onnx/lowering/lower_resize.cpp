// Resize and its predecessor Upsample.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/antialias.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

struct Target {
  Shape sizes;
  std::vector<double> scales;
};

// floor(extent * scale), in the float arithmetic that the exporters' own shapes come from.
Result<int64_t> scaled(int64_t extent, double scale) {
  const float product = static_cast<float>(extent) * static_cast<float>(scale);
  if (!(scale > 0) || !(product < 1e9f)) return invalid_argument(cat("a scale of ", scale, " is not usable"));
  return static_cast<int64_t>(std::floor(product));
}

Result<Target> by_scales(const Shape& x, const std::vector<double>& scales, const Shape& axes) {
  if (scales.size() != axes.size()) {
    return invalid_argument(
        cat("scales has ", scales.size(), " entries for ", axes.size(), " axes of ", shape_text(x)));
  }
  Target target{x, std::vector<double>(x.size(), 1)};
  for (size_t at = 0; at < axes.size(); ++at) {
    const auto axis = static_cast<size_t>(axes[at]);
    BP_TRY_ASSIGN(target.sizes[axis], scaled(x[axis], scales[at]));
    target.scales[axis] = scales[at];
  }
  return target;
}

// Sizes as given, or the largest (smallest) ones of the input's proportions that fit within (around) them.
Result<Target> by_sizes(const Shape& x, const Shape& sizes, const Shape& axes, const std::string& policy) {
  if (sizes.size() != axes.size()) {
    return invalid_argument(cat("sizes has ", sizes.size(), " entries for ", axes.size(), " axes of ", shape_text(x)));
  }
  Target target{x, std::vector<double>(x.size(), 1)};
  std::vector<double> ratios;
  for (size_t at = 0; at < axes.size(); ++at) {
    const int64_t extent = x[static_cast<size_t>(axes[at])];
    if (extent < 1 || sizes[at] < 1) return invalid_argument("it resizes from or to nothing");
    ratios.push_back(static_cast<double>(sizes[at]) / static_cast<double>(extent));
  }
  if (ratios.empty()) return target;
  const bool within = policy == "not_larger", around = policy == "not_smaller";
  if (!within && !around && policy != "stretch") {
    return invalid_argument(cat("keep_aspect_ratio_policy '", policy, "' is not known"));
  }
  const double common =
      around ? *std::max_element(ratios.begin(), ratios.end()) : *std::min_element(ratios.begin(), ratios.end());
  for (size_t at = 0; at < axes.size(); ++at) {
    const auto axis = static_cast<size_t>(axes[at]);
    const bool kept = within || around;
    target.scales[axis] = kept ? common : ratios[at];
    target.sizes[axis] = kept ? std::llround(common * static_cast<double>(x[axis])) : sizes[at];
  }
  return target;
}

Status emit_resize(NodeContext& c, const Target& target, AttrList attrs) {
  attrs.set(BP_ATTR_SIZES, target.sizes);
  attrs.set(BP_ATTR_SCALES, target.scales);
  return c.set(0, c.emit.op(Op::kRESIZE, {c.in(0)}, attrs));
}

Shape every_axis(size_t rank) {
  Shape axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Upsample, and Resize of opset 10: a coordinate is just divided by the scale.
Status upsample(NodeContext& c) {
  std::vector<double> scales = c.f64s("scales");
  if (c.opset() >= 9) {
    BP_TRY_ASSIGN(scales, c.in_f64s(1));
  }
  const Shape x = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const Target target, by_scales(x, scales, every_axis(x.size())));
  const std::string mode = c.text("mode", "nearest");
  return emit_resize(c, target,
                     {{BP_ATTR_MODE, mode == "bilinear" ? std::string("linear") : mode},
                      {BP_ATTR_COORDINATE_MODE, std::string("asymmetric")},
                      {BP_ATTR_NEAREST_MODE, std::string("floor")}});
}

// Begins and ends of all axes, from those of some.
Result<std::vector<double>> region(NodeContext& c, size_t rank, const Shape& axes) {
  BP_TRY_ASSIGN(const std::vector<double> given, c.in_f64s(1));
  if (given.size() != 2 * axes.size()) {
    return invalid_argument(cat("roi must have ", 2 * axes.size(), " elements, found ", given.size()));
  }
  std::vector<double> full(2 * rank, 0);
  std::fill(full.begin() + static_cast<ptrdiff_t>(rank), full.end(), 1);
  for (size_t at = 0; at < axes.size(); ++at) {
    const auto axis = static_cast<size_t>(axes[at]);
    full[axis] = given[at];
    full[axis + rank] = given[at + axes.size()];
  }
  return full;
}

// In the order given: entries of roi, scales and sizes stand in it.
Result<Shape> resized_axes(NodeContext& c, size_t rank) {
  if (!c.has_attr("axes")) return every_axis(rank);
  Shape axes = c.i64s("axes");
  BP_TRY(NodeContext::axes_of(axes, static_cast<int64_t>(rank)).status());
  for (int64_t& axis : axes) axis = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  return axes;
}

Result<Target> resize_target(NodeContext& c, const Shape& x, const Shape& axes) {
  BP_TRY_ASSIGN(const Shape sizes, c.in_i64s(3));
  if (!sizes.empty()) return by_sizes(x, sizes, axes, c.text("keep_aspect_ratio_policy", "stretch"));
  BP_TRY_ASSIGN(const std::vector<double> scales, c.in_f64s(2));
  return by_scales(x, scales, axes);
}

Status resize(NodeContext& c) {
  const std::string coordinates = c.text("coordinate_transformation_mode", "half_pixel");
  const Shape x = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const Shape axes, resized_axes(c, x.size()));
  BP_TRY_ASSIGN(const Target target, resize_target(c, x, axes));
  AttrList attrs{{BP_ATTR_MODE, c.text("mode", "nearest")},
                 {BP_ATTR_COORDINATE_MODE, coordinates},
                 {BP_ATTR_NEAREST_MODE, c.text("nearest_mode", "round_prefer_floor")},
                 {BP_ATTR_CUBIC_COEFF_A, c.f64("cubic_coeff_a", -0.75)},
                 {BP_ATTR_EXCLUDE_OUTSIDE, c.i64("exclude_outside", 0)},
                 {BP_ATTR_EXTRAPOLATION_VALUE, c.f64("extrapolation_value", 0)}};
  std::vector<double> roi;
  if (coordinates == "tf_crop_and_resize") {
    BP_TRY_ASSIGN(roi, region(c, x.size(), axes));
    attrs.set(BP_ATTR_ROI, roi);
  }
  const std::string mode = c.text("mode", "nearest");
  if (c.i64("antialias", 0) != 0 && mode != "nearest") {
    if (mode != "linear" && mode != "cubic") return invalid_argument(cat("mode '", mode, "' is not known"));
    return c.set(
        0, resize_antialiased(c, c.in(0),
                              {target.sizes, target.scales, coordinates, mode == "cubic", c.f64("cubic_coeff_a", -0.75),
                               c.i64("exclude_outside", 0) != 0, std::move(roi), c.f64("extrapolation_value", 0)}));
  }
  return emit_resize(c, target, std::move(attrs));
}

}  // namespace

std::span<const Lowering> resize_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Upsample", 7, 1, upsample, Op::kRESIZE, 9},
      {"Resize", 10, 2, upsample, Op::kRESIZE, 10},
      {"Resize", 11, 1, resize},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
