// Convolutions.
#include <algorithm>

#include "backplane/base/text.hpp"
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

}  // namespace

std::span<const Lowering> conv_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Conv", 1, 2, conv},
      {"ConvTranspose", 1, 2, conv_transpose},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
