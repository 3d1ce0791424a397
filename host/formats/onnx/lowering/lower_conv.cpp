// Convolutions.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"
#include "lowering/spatial.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

Result<Shape> kernel_of(NodeContext& c) {
  const Shape weights = c.emit.shape(c.in(1));
  if (weights.size() < 3) {
    return invalid_argument(cat("weights must be [out, in, kernel...], found ", shape_text(weights)));
  }
  const Shape kernel(weights.begin() + 2, weights.end());
  const Shape given = c.i64s("kernel_shape");
  if (!given.empty() && given != kernel) {
    return invalid_argument(
        cat("kernel_shape ", shape_text(given), " is not that of the weights ", shape_text(weights)));
  }
  return kernel;
}

Status conv(NodeContext& c) {
  BP_TRY_ASSIGN(Shape kernel, kernel_of(c));
  BP_TRY_ASSIGN(const Spatial spatial, read_spatial(c, std::move(kernel)));
  AttrList attrs = spatial.attrs(false);
  attrs.set(BP_ATTR_GROUP, c.i64("group", 1));
  return c.set(0, c.emit.op(Op::kCONV, {c.in(0), c.in(1), c.in(2)}, attrs));
}

// Pads that give the wanted output, where ONNX gives the output's extents instead of the pads.
Status pads_from_output(NodeContext& c, Spatial& spatial, Shape& output_padding) {
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  Shape wanted = c.i64s("output_shape");
  if (wanted.empty() && !same) return ok_status();
  const size_t rank = spatial.kernel.size();
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != rank) {
    return invalid_argument(cat("output_shape ", shape_text(wanted), " must have ", rank, " entries"));
  }
  for (size_t at = 0; at < rank; ++at) {
    const int64_t out = wanted.empty() ? spatial.in[at] * spatial.strides[at] : wanted[at];
    const int64_t full = spatial.strides[at] * (spatial.in[at] - 1) + output_padding[at] +
                         (spatial.kernel[at] - 1) * spatial.dilations[at] + 1;
    // More output than the kernel reaches is padding of the output.
    output_padding[at] += std::max<int64_t>(0, out - full);
    const int64_t total = std::max<int64_t>(0, full - out);
    spatial.pads[at] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    spatial.pads[at + rank] = total - spatial.pads[at];
  }
  return ok_status();
}

Status conv_transpose(NodeContext& c) {
  BP_TRY_ASSIGN(Shape kernel, kernel_of(c));
  BP_TRY_ASSIGN(Spatial spatial, read_spatial(c, std::move(kernel), true));
  Shape output_padding = c.i64s("output_padding");
  if (output_padding.empty()) output_padding.assign(spatial.kernel.size(), 0);
  if (output_padding.size() != spatial.kernel.size()) {
    return invalid_argument(
        cat("output_padding ", shape_text(output_padding), " must have ", spatial.kernel.size(), " entries"));
  }
  BP_TRY(pads_from_output(c, spatial, output_padding));
  AttrList attrs = spatial.attrs(false);
  attrs.set(BP_ATTR_GROUP, c.i64("group", 1));
  attrs.set(BP_ATTR_OUTPUT_PADDING, output_padding);
  return c.set(0, c.emit.op(Op::kCONV_TRANSPOSE, {c.in(0), c.in(1), c.in(2)}, attrs));
}

// How blocks lie over a padded image: block position l's tap t is element places[t * positions + l] of it.
struct BlockPlaces {
  Shape padded;
  std::vector<double> places;
};

constexpr int64_t kMaxBlockElements = int64_t{1} << 26;

Result<BlockPlaces> block_places(const Spatial& s, int64_t positions) {
  const size_t rank = s.kernel.size();
  BlockPlaces made;
  Shape counts;  // of positions by axis
  for (size_t at = 0; at < rank; ++at) {
    made.padded.push_back(s.in[at] + s.pads[at] + s.pads[at + rank]);
    const int64_t room = made.padded[at] - (s.kernel[at] - 1) * s.dilations[at] - 1;
    if (room < 0) return invalid_argument("a block is larger than the image");
    counts.push_back(room / s.strides[at] + 1);
  }
  BP_TRY(element_count(made.padded).status());
  BP_TRY_ASSIGN(const int64_t wanted, element_count(counts));
  BP_TRY_ASSIGN(const int64_t taps, element_count(s.kernel));
  if (wanted != positions) return invalid_argument(cat("there are ", positions, " blocks, wanted ", wanted));
  if (taps > kMaxBlockElements / std::max<int64_t>(positions, 1))
    return unimplemented("it has too many blocks to list");
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t position = 0; position < positions; ++position) {
      int64_t place = 0, scale = 1, t = tap, l = position;
      for (size_t at = rank; at-- > 0;) {
        place += scale * (l % counts[at] * s.strides[at] + t % s.kernel[at] * s.dilations[at]);
        scale *= made.padded[at];
        l /= counts[at];
        t /= s.kernel[at];
      }
      made.places.push_back(static_cast<double>(place));
    }
  return made;
}

// Adds up overlapping blocks, [N, C * taps, L], to images, [N, C, image...]; what falls on the padding is dropped.
Status col2im(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const Shape image, c.in_i64s(1));
  BP_TRY_ASSIGN(Shape block, c.in_i64s(2));
  const size_t rank = image.size();
  Spatial spatial{std::move(block), c.i64s("strides"), c.i64s("dilations"), c.i64s("pads"), image};
  if (rank < 1 || x.size() != 3 || spatial.kernel.size() != rank) {
    return invalid_argument(
        cat("it needs [N, C * taps, L], found ", shape_text(x), ", and an image and a block of one rank"));
  }
  BP_TRY(complete_spatial(spatial));
  BP_TRY_ASSIGN(const int64_t taps, element_count(spatial.kernel));
  if (x[1] % taps != 0) return invalid_argument(cat(x[1], " is no multiple of the block's ", taps, " elements"));
  BP_TRY_ASSIGN(BlockPlaces blocks, block_places(spatial, x[2]));
  BP_TRY_ASSIGN(const int64_t count, element_count(blocks.padded));
  const int64_t planes = x[0] * (x[1] / taps), parts = taps * x[2];
  Formula f(c.emit);
  const TensorId indices = f.broadcast(f.list(DType::kI64, blocks.places), {planes, parts});
  const TensorId zeros = f.broadcast(f.like(c.in(0), 0), {planes, count});
  TensorId y = f.op(Op::kSCATTER_ELEMENTS, {zeros, indices, f.reshape(c.in(0), {planes, parts})},
                    {{BP_ATTR_AXIS, int64_t{1}}, {BP_ATTR_REDUCTION, std::string("add")}});
  Shape shape{x[0], x[1] / taps};
  shape.insert(shape.end(), blocks.padded.begin(), blocks.padded.end());
  y = f.reshape(y, shape);
  for (size_t at = 0; at < rank; ++at) y = f.slice(y, static_cast<int64_t>(at) + 2, spatial.pads[at], image[at]);
  return c.set(0, f.result(y));
}

}  // namespace

std::span<const Lowering> conv_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Conv", 1, 2, conv},
      {"ConvTranspose", 1, 2, conv_transpose},
      {"Col2Im", 18, 3, col2im},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
