#include "lowering/spatial.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane::onnx_import {
namespace {

// Far above any honest value, and low enough for sums and products of three not to overflow.
constexpr int64_t kMaxParameter = int64_t{1} << 20, kMaxExtent = int64_t{1} << 40;

Status complete(std::vector<int64_t>& values, std::string_view key, size_t count, int64_t fallback, int64_t least) {
  if (values.empty()) values.assign(count, fallback);
  if (values.size() != count) {
    return invalid_argument(cat(key, " ", shape_text(values), " must have ", count, " entries"));
  }
  for (const int64_t value : values) {
    if (value < least || value > kMaxParameter) {
      return invalid_argument(cat(key, " ", shape_text(values), " must be in ", least, "..", kMaxParameter));
    }
  }
  return ok_status();
}

// Pads such that the output has ceil(in / stride) elements; an odd one goes to the end, or to the begin.
void pad_to_same(Spatial& spatial, bool extra_at_begin) {
  const size_t rank = spatial.kernel.size();
  for (size_t at = 0; at < rank; ++at) {
    const int64_t out = (spatial.in[at] + spatial.strides[at] - 1) / spatial.strides[at];
    const int64_t reach = (spatial.kernel[at] - 1) * spatial.dilations[at] + 1;
    const int64_t total = std::max<int64_t>(0, (out - 1) * spatial.strides[at] + reach - spatial.in[at]);
    const int64_t less = total / 2;
    spatial.pads[at] = extra_at_begin ? total - less : less;
    spatial.pads[at + rank] = total - spatial.pads[at];
  }
}

}  // namespace

AttrList Spatial::attrs(bool with_kernel) const {
  AttrList list{{BP_ATTR_STRIDES, strides}, {BP_ATTR_DILATIONS, dilations}, {BP_ATTR_PADS, pads}};
  if (with_kernel) list.set(BP_ATTR_KERNEL_SHAPE, kernel);
  return list;
}

Status complete_spatial(Spatial& spatial) {
  const size_t rank = spatial.kernel.size();
  BP_TRY(complete(spatial.in, "the image", rank, 1, 1));
  BP_TRY(complete(spatial.kernel, "the block", rank, 1, 1));
  BP_TRY(complete(spatial.strides, "strides", rank, 1, 1));
  BP_TRY(complete(spatial.dilations, "dilations", rank, 1, 1));
  return complete(spatial.pads, "pads", 2 * rank, 0, 0);
}

Result<Spatial> read_spatial(NodeContext& c, std::vector<int64_t> kernel, bool transposed) {
  const std::vector<int64_t> x = c.emit.shape(c.in(0));
  const size_t rank = kernel.size();
  if (rank < 1 || x.size() != rank + 2) {
    return invalid_argument(cat("input of shape ", shape_text(x), " does not fit a kernel of shape ",
                                shape_text(kernel), ": want [N, C, spatial...]"));
  }
  Spatial spatial{std::move(kernel), c.i64s("strides"), c.i64s("dilations"), c.i64s("pads"), {x.begin() + 2, x.end()}};
  for (const int64_t extent : spatial.in) {
    if (extent > kMaxExtent) return invalid_argument(cat("an image of ", shape_text(spatial.in), " is too large"));
  }
  BP_TRY(complete(spatial.kernel, "kernel_shape", rank, 1, 1));
  BP_TRY(complete(spatial.strides, "strides", rank, 1, 1));
  BP_TRY(complete(spatial.dilations, "dilations", rank, 1, 1));
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic != "NOTSET") spatial.pads.clear();
  BP_TRY(complete(spatial.pads, "pads", 2 * rank, 0, -kMaxParameter));
  const bool upper = automatic == "SAME_UPPER", lower = automatic == "SAME_LOWER";
  if (!upper && !lower && automatic != "NOTSET" && automatic != "VALID") {
    return invalid_argument(cat("auto_pad '", automatic, "' is not NOTSET, VALID, SAME_UPPER or SAME_LOWER"));
  }
  if ((upper || lower) && !transposed) pad_to_same(spatial, lower);
  return spatial;
}

}  // namespace backplane::onnx_import
