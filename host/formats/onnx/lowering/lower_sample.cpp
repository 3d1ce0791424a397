// GridSample, AffineGrid and RoiAlign: planes sampled at computed places.
#include <array>
#include <cstdint>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"
#include "lowering/sampler.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// ---- GridSample

Result<Padding> padding_of(NodeContext& c) {
  const std::string name = c.text("padding_mode", "zeros");
  if (name == "zeros") return Padding::zeros;
  if (name == "border") return Padding::border;
  if (name == "reflection") return Padding::reflection;
  return invalid_argument(cat("padding_mode '", name, "' is not zeros, border or reflection"));
}

// Checks that products of extents fit, which they need not where another extent is 0.
Status check_products(const Shape& shape, size_t first, size_t count) {
  return element_count(std::span(shape).subspan(first, count)).status();
}

Status grid_sample(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0)), grid = c.emit.shape(c.in(1));
  if (x.size() == 5) return unimplemented("volumes are not supported: its input must be [N, C, H, W]");
  if (x.size() != 4 || grid.size() != 4 || grid[0] != x[0] || grid[3] != 2 || x[2] < 1 || x[3] < 1) {
    return invalid_argument(
        cat("it needs [N, C, H, W] and a grid [N, H, W, 2], found ", shape_text(x), " and ", shape_text(grid)));
  }
  BP_TRY(check_products(x, 2, 2));
  BP_TRY(check_products(grid, 1, 2));
  BP_TRY_ASSIGN(const Padding padding, padding_of(c));
  Formula f(c.emit);
  Sampler sampler{f, planes_of(f, c.in(0)), padding, c.i64("align_corners", 0) != 0};
  const Shape places{x[0], 1, grid[1] * grid[2]};
  const auto coordinate = [&](int64_t which, int64_t extent) {
    return sampler.unnormalized(f.reshape(f.slice(c.in(1), 3, which, 1), places), extent);
  };
  const TensorId column = coordinate(0, x[3]), row = coordinate(1, x[2]);
  const std::string mode = c.text("mode", "bilinear");
  TensorId y = kNone;
  if (mode == "bilinear" || mode == "linear")
    y = sampler.linear(row, column);
  else if (mode == "nearest")
    y = sampler.nearest(row, column);
  else if (mode == "bicubic" || mode == "cubic")
    y = sampler.cubic(row, column);
  else
    return invalid_argument(cat("mode '", mode, "' is not linear, nearest or cubic"));
  const TensorId made = f.reshape(y, {x[0], x[1], grid[1], grid[2]});
  return c.set(0, f.result(made));
}

// ---- AffineGrid

// The coordinates of `extent` elements in [-1, 1]: of their centres, where the corners are centres or edges.
std::vector<double> normalized(int64_t extent, bool align_corners) {
  std::vector<double> places(static_cast<size_t>(extent));
  const auto size = static_cast<double>(extent);
  for (size_t at = 0; at < places.size(); ++at) {
    const auto place = static_cast<double>(at);
    places[at] = align_corners ? place * 2 / (size - 1) - 1 : (place * 2 + 1) / size - 1;
  }
  return places;
}

// Every place of the grid as a row (x, y, 1) or (x, y, z, 1): [places, rank + 1].
std::vector<double> homogeneous_places(const Shape& extents, bool align_corners) {
  const size_t rank = extents.size();
  std::vector<std::vector<double>> axes;
  int64_t count = 1;
  for (const int64_t extent : extents) {
    axes.push_back(normalized(extent, align_corners));
    count *= extent;
  }
  std::vector<double> rows;
  for (int64_t at = 0; at < count; ++at) {
    int64_t rest = at;
    for (size_t axis = rank; axis-- > 0; rest /= extents[axis]) {
      rows.push_back(axes[axis][static_cast<size_t>(rest % extents[axis])]);
    }
    rows.push_back(1);
  }
  return rows;
}

Status affine_grid(NodeContext& c) {
  BP_TRY_ASSIGN(const Shape size, c.in_i64s(1));
  const Shape theta = c.emit.shape(c.in(0));
  const auto rank = static_cast<int64_t>(size.size()) - 2;
  if ((rank != 2 && rank != 3) || theta != Shape{size[0], rank, rank + 1}) {
    return invalid_argument(cat("it needs matrices [N, 2, 3] and a size [N, C, H, W], or [N, 3, 4] and [N, C, D, H, W]",
                                ", found ", shape_text(theta), " and ", shape_text(size)));
  }
  const Shape extents(size.begin() + 2, size.end());
  const bool align_corners = c.i64("align_corners", 0) != 0;
  for (const int64_t extent : extents) {
    if (extent < 1) return invalid_argument(cat("a grid of the size ", shape_text(size), " has no places"));
    if (extent == 1 && align_corners) return unimplemented("of one element, both ends of an axis are corners");
  }
  BP_TRY_ASSIGN(const int64_t count, element_count(extents));
  int64_t elements = 0;
  if (__builtin_mul_overflow(count, rank + 1, &elements)) elements = INT64_MAX;
  BP_TRY(c.emit.claim(elements));
  Formula f(c.emit);
  const TensorId places =
      f.reshape(f.list(c.emit.dtype(c.in(0)), homogeneous_places(extents, align_corners)), {count, rank + 1});
  const TensorId grid = f.op(Op::kMATMUL, {places, f.permute(c.in(0), {0, 2, 1})});
  Shape shape{size[0]};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(rank);
  return c.set(0, f.result(f.reshape(grid, shape)));
}

// ---- RoiAlign

struct Roi {
  int64_t count, samples;  // regions; samples along an axis of an output element
  double scale, shift;     // from the regions' coordinates to elements
  bool at_least_one;       // a region is at least one element long
};

// Sampling coordinates along an axis, [R, bins * samples], of regions from `begin` to `end`, [R, 1].
TensorId roi_samples(Formula& f, const Roi& roi, TensorId begin, TensorId end, int64_t bins) {
  const TensorId start = f.add(f.mul(begin, roi.scale), roi.shift);
  TensorId length = f.sub(f.add(f.mul(end, roi.scale), roi.shift), start);
  if (roi.at_least_one) length = f.op(Op::kMAX, {length, f.like(length, 1)});
  std::vector<double> parts;  // of the region
  for (int64_t i = 0; i < bins * roi.samples; ++i)
    parts.push_back((static_cast<double>(i) + 0.5) / static_cast<double>(bins * roi.samples));
  return f.add(start, f.mul(length, f.list(f.dtype(length), parts)));
}

// Two neighbours of each coordinate and their weights; weights are 0 beyond an element outside.
struct Neighbours {
  TensorId low, high, low_weight, high_weight;
};

Neighbours neighbours(Formula& f, TensorId x, int64_t extent) {
  const auto last = static_cast<double>(extent - 1);
  const TensorId within =
      f.op(Op::kAND, {f.compare(Op::kGE, x, -1), f.compare(Op::kLE, x, static_cast<double>(extent))});
  const TensorId counts = f.op(Op::kWHERE, {within, f.like(x, 1), f.like(x, 0)});
  const TensorId place = f.clip(x, 0, last);
  const TensorId low = f.op(Op::kFLOOR, {place}), part = f.sub(place, low);
  return {low, f.clip(f.add(low, 1.0), 0, last), f.mul(f.sub(f.like(x, 1), part), counts), f.mul(part, counts)};
}

// Rows [R, Y] and columns [R, X] as places [R, 1, Y * X].
TensorId crossed(Formula& f, Op op, TensorId rows, TensorId columns) {
  const Shape r = f.shape(rows), s = f.shape(columns);
  if (!f.status().ok()) return kNone;
  const TensorId grid = f.op(op, {f.reshape(rows, {r[0], r[1], 1}), f.reshape(columns, {s[0], 1, s[1]})});
  return f.reshape(grid, {r[0], 1, r[1] * s[1]});
}

TensorId roi_taps(Formula& f, const Planes& planes, const Neighbours& y, const Neighbours& x, Op unite) {
  TensorId total = kNone;
  const std::array<std::array<TensorId, 2>, 2> rows{{{y.low, y.low_weight}, {y.high, y.high_weight}}};
  const std::array<std::array<TensorId, 2>, 2> columns{{{x.low, x.low_weight}, {x.high, x.high_weight}}};
  for (const auto& [row, row_weight] : rows)
    for (const auto& [column, column_weight] : columns) {
      const TensorId zero = f.mul(row, 0.0), none = f.mul(column, 0.0);
      const TensorId value =
          elements_at(f, planes, crossed(f, Op::kADD, row, none), crossed(f, Op::kADD, zero, column));
      const TensorId part = f.mul(value, crossed(f, Op::kMUL, row_weight, column_weight));
      total = total == kNone ? part : f.op(unite, {total, part});
    }
  return total;
}

Status roi_align(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0)), rois = c.emit.shape(c.in(1));
  const int64_t height = c.i64("output_height", 1), width = c.i64("output_width", 1);
  const int64_t samples = c.i64("sampling_ratio", 0);
  if (samples == 0) return unimplemented("its sampling_ratio is 0: how many samples there are depends on data");
  if (x.size() != 4 || rois.size() != 2 || rois[1] != 4 || height < 1 || width < 1 || samples < 0 || x[2] < 1 ||
      x[3] < 1 || height > (1 << 20) / samples || width > (1 << 20) / samples) {
    return invalid_argument(cat("it needs [N, C, H, W], regions [R, 4] and positive sizes, found ", shape_text(x),
                                " and ", shape_text(rois)));
  }
  BP_TRY(check_products(x, 2, 2));
  const std::string mode = c.text("mode", "avg");
  if (mode != "avg" && mode != "max") return invalid_argument(cat("mode '", mode, "' is not avg or max"));
  const bool half_pixel =
      c.text("coordinate_transformation_mode", c.opset() >= 16 ? "half_pixel" : "output_half_pixel") == "half_pixel";
  const Roi roi{rois[0], samples, c.f64("spatial_scale", 1), half_pixel ? -0.5 : 0, !half_pixel};
  Formula f(c.emit);
  const auto corner = [&](int64_t which) { return f.slice(c.in(1), 1, which, 1); };
  const Neighbours columns = neighbours(f, roi_samples(f, roi, corner(0), corner(2), width), x[3]);
  const Neighbours rows = neighbours(f, roi_samples(f, roi, corner(1), corner(3), height), x[2]);
  const Planes planes = planes_of(f, f.op(Op::kGATHER, {c.in(0), c.in(2)}, {{BP_ATTR_AXIS, int64_t{0}}}));
  const TensorId taps = roi_taps(f, planes, rows, columns, mode == "avg" ? Op::kADD : Op::kMAX);
  const TensorId grid = f.reshape(taps, {roi.count, x[1], height, samples, width, samples});
  const TensorId y = f.reduce(mode == "avg" ? Op::kREDUCE_MEAN : Op::kREDUCE_MAX, grid, {3, 5}, false);
  return c.set(0, f.result(y));
}

}  // namespace

std::span<const Lowering> sample_lowerings() {
  static constexpr Lowering kRows[] = {
      {"GridSample", 16, 2, grid_sample},
      {"AffineGrid", 20, 2, affine_grid},
      {"RoiAlign", 10, 3, roi_align},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
