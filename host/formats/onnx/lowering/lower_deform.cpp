// DeformConv: each element of a kernel looks at a place of its own, moved by an offset that is data.
#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"
#include "lowering/sampler.hpp"
#include "lowering/spatial.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// Where the kernel's elements lie along an axis without offsets: [kernel, out] values, `taps` steps by `out` steps.
std::vector<double> kernel_places(const Spatial& spatial, size_t axis, int64_t out) {
  std::vector<double> places;
  for (int64_t tap = 0; tap < spatial.kernel[axis]; ++tap)
    for (int64_t at = 0; at < out; ++at)
      places.push_back(
          static_cast<double>(at * spatial.strides[axis] + tap * spatial.dilations[axis] - spatial.pads[axis]));
  return places;
}

struct DeformShapes {
  int64_t images, channels, outputs, groups, offset_groups, taps;
  Shape out;  // [oH, oW]
};

// Errors: invalid_argument for shapes that do not fit each other.
Result<DeformShapes> deform_shapes(NodeContext& c, const Spatial& spatial) {
  const Shape x = c.emit.shape(c.in(0)), w = c.emit.shape(c.in(1)), offset = c.emit.shape(c.in(2));
  const int64_t groups = c.i64("group", 1), offset_groups = c.i64("offset_group", 1);
  if (groups < 1 || offset_groups < 1 || x[1] < 1 || x[2] < 1 || x[3] < 1 || x[1] % groups != 0 || w[0] % groups != 0 ||
      w[1] != x[1] / groups || x[1] % offset_groups != 0) {
    return invalid_argument(cat("weights ", shape_text(w), " do not fit the input ", shape_text(x), " in ", groups,
                                " groups and ", offset_groups, " of offsets"));
  }
  DeformShapes made{x[0], x[1], w[0], groups, offset_groups, spatial.kernel[0] * spatial.kernel[1], {}};
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t reach = (spatial.kernel[axis] - 1) * spatial.dilations[axis] + 1;
    const int64_t room = spatial.in[axis] + spatial.pads[axis] + spatial.pads[axis + 2] - reach;
    if (room < 0) return invalid_argument("the kernel is larger than the padded input");
    made.out.push_back(room / spatial.strides[axis] + 1);
  }
  BP_TRY(element_count(Shape{x[0], offset_groups, made.taps, 2, made.out[0], made.out[1]}).status());
  BP_TRY(element_count(Shape{x[0], x[1], made.taps, made.out[0], made.out[1]}).status());
  const Shape wanted{x[0], offset_groups * made.taps * 2, made.out[0], made.out[1]};
  if (offset != wanted) {
    return invalid_argument(cat("offsets must be ", shape_text(wanted), ", found ", shape_text(offset)));
  }
  const Shape masks{x[0], offset_groups * made.taps, made.out[0], made.out[1]};
  if (c.has(4) && c.emit.shape(c.in(4)) != masks) {
    return invalid_argument(cat("masks must be ", shape_text(masks), ", found ", shape_text(c.emit.shape(c.in(4)))));
  }
  return made;
}

// Coordinates of all taps along an axis, [N * offset groups, 1, taps * oH * oW].
TensorId tap_places(Formula& f, const DeformShapes& s, const Spatial& spatial, size_t axis, TensorId offset) {
  const int64_t kernel = spatial.kernel[axis], other = s.taps / kernel;
  const TensorId line = f.list(f.dtype(offset), kernel_places(spatial, axis, s.out[axis]));
  const TensorId base =
      axis == 0 ? f.reshape(line, {1, kernel, 1, s.out[0], 1}) : f.reshape(line, {1, 1, kernel, 1, s.out[1]});
  const Shape grid = axis == 0 ? Shape{s.images * s.offset_groups, kernel, other, s.out[0], s.out[1]}
                               : Shape{s.images * s.offset_groups, other, kernel, s.out[0], s.out[1]};
  const TensorId pairs = f.reshape(offset, {s.images * s.offset_groups, s.taps, 2, s.out[0] * s.out[1]});
  const TensorId moved = f.add(f.reshape(f.slice(pairs, 2, static_cast<int64_t>(axis), 1), grid), base);
  return f.reshape(moved, {grid[0], 1, s.taps * s.out[0] * s.out[1]});
}

// x, weights, offsets, bias, mask.
Status deform_conv(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0)), w = c.emit.shape(c.in(1));
  if (x.size() != 4 || w.size() != 4) return unimplemented("only images are supported: its input must be [N, C, H, W]");
  BP_TRY_ASSIGN(const Spatial spatial, read_spatial(c, {w[2], w[3]}));
  BP_TRY_ASSIGN(const DeformShapes s, deform_shapes(c, spatial));
  BP_TRY(element_count(Shape{x[2], x[3]}).status());
  for (size_t axis = 0; axis < 2; ++axis) BP_TRY(c.emit.claim(spatial.kernel[axis] * s.out[axis]));
  Formula f(c.emit);
  const TensorId images = f.reshape(c.in(0), {s.images * s.offset_groups, s.channels / s.offset_groups, x[2], x[3]});
  Sampler sampler{f, planes_of(f, images), Padding::zeros, true};
  TensorId taps = sampler.linear(tap_places(f, s, spatial, 0, c.in(2)), tap_places(f, s, spatial, 1, c.in(2)));
  const int64_t places = s.out[0] * s.out[1];
  if (c.has(4)) taps = f.mul(taps, f.reshape(c.in(4), {s.images * s.offset_groups, 1, s.taps * places}));
  const int64_t terms = s.channels / s.groups * s.taps;
  const TensorId columns = f.reshape(taps, {s.images, s.groups, terms, places});
  const TensorId weights = f.reshape(c.in(1), {1, s.groups, s.outputs / s.groups, terms});
  TensorId y = f.reshape(f.op(Op::kMATMUL, {weights, columns}), {s.images, s.outputs, s.out[0], s.out[1]});
  if (c.has(3)) y = f.add(y, f.reshape(c.in(3), {1, s.outputs, 1, 1}));
  return c.set(0, f.result(y));
}

}  // namespace

std::span<const Lowering> deform_lowerings() {
  static constexpr Lowering kRows[] = {{"DeformConv", 19, 3, deform_conv}};
  return kRows;
}

}  // namespace backplane::onnx_import
