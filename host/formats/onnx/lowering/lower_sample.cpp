// GridSample and RoiAlign: planes sampled at computed places. Each tap is a gather from flattened planes, times a
// weight; the taps' values are added up.
#include <array>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// [N, C, H, W] with planes in a row, and P places in each image, [N, 1, P].
struct Planes {
  TensorId flat = kNone;  // [N, C, H * W]
  int64_t channels = 0, height = 0, width = 0;
};

Planes planes_of(Formula& f, TensorId x) {
  const Shape shape = f.shape(x);
  if (shape.size() != 4) return {};
  return {f.reshape(x, {shape[0], shape[1], shape[2] * shape[3]}), shape[1], shape[2], shape[3]};
}

// The elements at whole-numbered coordinates that lie inside, [N, C, P].
TensorId elements_at(Formula& f, const Planes& planes, TensorId y, TensorId x) {
  const TensorId row = f.mul(f.cast(y, DType::kI64), static_cast<double>(planes.width));
  const TensorId place = f.add(row, f.cast(x, DType::kI64));
  Shape shape = f.shape(place);
  if (shape.size() == 3) shape[1] = planes.channels;
  return f.op(Op::kGATHER_ELEMENTS, {planes.flat, f.broadcast(place, shape)}, {{BP_ATTR_AXIS, int64_t{2}}});
}

// ---- GridSample

enum class Padding { zeros, border, reflection };

struct Sampler {
  Formula& f;
  Planes planes;
  Padding padding;
  bool align_corners;

  // From [-1, 1] to elements: the corners are the centres of the outer elements, or their outer edges.
  TensorId unnormalized(TensorId x, int64_t extent) {
    const auto size = static_cast<double>(extent);
    if (align_corners) return f.mul(f.add(x, 1.0), (size - 1) / 2);
    return f.mul(f.add(f.mul(f.add(x, 1.0), size), -1.0), 0.5);
  }

  // Mirrors at the centres of the outer elements, or at their outer edges, as often as it takes.
  TensorId reflected(TensorId x, int64_t extent) {
    const double low = align_corners ? 0 : -0.5;
    const double span = static_cast<double>(align_corners ? extent - 1 : extent);
    if (span <= 0) return f.mul(x, 0.0);
    const TensorId distance = f.op(Op::kABS, {f.add(x, -low)});
    const TensorId rest = f.op(Op::kMOD, {distance, f.like(x, span)}, {{BP_ATTR_FMOD, int64_t{1}}});
    const TensorId turns = f.op(Op::kFLOOR, {f.mul(distance, 1 / span)});
    const TensorId odd = f.op(Op::kMOD, {turns, f.like(x, 2)}, {{BP_ATTR_FMOD, int64_t{1}}});
    const TensorId there = f.add(rest, low), back = f.sub(f.like(x, span + low), rest);
    return f.op(Op::kWHERE, {f.compare(Op::kEQ, odd, 0), there, back});
  }

  TensorId padded(TensorId x, int64_t extent) {
    if (padding == Padding::zeros) return x;
    if (padding == Padding::reflection) x = reflected(x, extent);
    return f.clip(x, 0, static_cast<double>(extent - 1));
  }

  // 1 where a coordinate lies inside, else 0.
  TensorId inside(TensorId x, int64_t extent) {
    const TensorId within =
        f.op(Op::kAND, {f.compare(Op::kGE, x, 0), f.compare(Op::kLE, x, static_cast<double>(extent - 1))});
    return f.op(Op::kWHERE, {within, f.like(x, 1), f.like(x, 0)});
  }

  // What stands at whole-numbered coordinates; 0 outside.
  TensorId tap(TensorId y, TensorId x) {
    const TensorId kept = f.mul(inside(y, planes.height), inside(x, planes.width));
    const TensorId row = f.clip(y, 0, static_cast<double>(planes.height - 1));
    const TensorId column = f.clip(x, 0, static_cast<double>(planes.width - 1));
    return f.mul(elements_at(f, planes, row, column), kept);
  }

  TensorId nearest(TensorId y, TensorId x) {
    return tap(f.op(Op::kROUND, {padded(y, planes.height)}), f.op(Op::kROUND, {padded(x, planes.width)}));
  }

  TensorId linear(TensorId y, TensorId x) {
    y = padded(y, planes.height);
    x = padded(x, planes.width);
    const TensorId top = f.op(Op::kFLOOR, {y}), left = f.op(Op::kFLOOR, {x});
    const TensorId down = f.sub(y, top), right = f.sub(x, left);
    const TensorId up = f.sub(f.like(y, 1), down), before = f.sub(f.like(x, 1), right);
    const TensorId bottom = f.add(top, 1.0), after = f.add(left, 1.0);
    const TensorId upper = f.add(f.mul(tap(top, left), f.mul(up, before)), f.mul(tap(top, after), f.mul(up, right)));
    const TensorId lower =
        f.add(f.mul(tap(bottom, left), f.mul(down, before)), f.mul(tap(bottom, after), f.mul(down, right)));
    return f.add(upper, lower);
  }

  // Weights of the four neighbours of a fraction t (Keys' kernel with a = -0.75).
  std::array<TensorId, 4> cubic_weights(TensorId t) {
    constexpr double a = -0.75;
    const auto outer = [&](TensorId d) {  // ((d * a - 5a) * d + 8a) * d - 4a
      return f.add(f.mul(f.add(f.mul(f.add(f.mul(d, a), -5 * a), d), 8 * a), d), -4 * a);
    };
    const auto inner = [&](TensorId d) {  // ((a + 2) * d - (a + 3)) * d^2 + 1
      return f.add(f.mul(f.mul(f.add(f.mul(d, a + 2), -(a + 3)), d), d), 1.0);
    };
    const TensorId rest = f.sub(f.like(t, 1), t);
    return {outer(f.add(t, 1.0)), inner(t), inner(rest), outer(f.add(rest, 1.0))};
  }

  // Padding applies to each tap: a coordinate between elements of both sides of an edge has taps on both.
  TensorId cubic(TensorId y, TensorId x) {
    const TensorId top = f.op(Op::kFLOOR, {y}), left = f.op(Op::kFLOOR, {x});
    const std::array<TensorId, 4> rows = cubic_weights(f.sub(y, top)), columns = cubic_weights(f.sub(x, left));
    TensorId total = kNone;
    for (size_t i = 0; i < 4; ++i)
      for (size_t j = 0; j < 4; ++j) {
        const TensorId value = tap(padded(f.add(top, static_cast<double>(i) - 1), planes.height),
                                   padded(f.add(left, static_cast<double>(j) - 1), planes.width));
        const TensorId part = f.mul(value, f.mul(rows[i], columns[j]));
        total = i + j == 0 ? part : f.add(total, part);
      }
    return total;
  }
};

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
      {"RoiAlign", 10, 3, roi_align},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
