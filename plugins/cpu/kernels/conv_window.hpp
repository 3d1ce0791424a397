// Window: the spatial geometry of convolutions and pools, always three axes (missing outer ones have extent 1).
//
// Output position o and tap t of an axis meet input coordinate o·stride + origin + t·dilation; coordinates outside
// [0, in) are padding. Thread safety: values.
#pragma once

#include <array>

#include "kernels/operand.hpp"

namespace backplane_cpu {

using Extents = std::array<int64_t, 3>;

struct Window {
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  Extents stride{1, 1, 1}, dilation{1, 1, 1}, origin{0, 0, 0};
  Extents x_stride{0, 0, 0};  // of the input, in elements
  Extents y_stride{0, 0, 0};

  int64_t out_count() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t coordinate(int axis, int64_t position, int64_t tap) const {
    return position * stride[axis] + origin[axis] + tap * dilation[axis];
  }
  bool inside(int axis, int64_t at) const { return at >= 0 && at < in[axis]; }
};

// The spatial attributes of a node, checked: S strides and dilations >= 1, 2·S pads >= 0 (begins, then ends).
struct SpatialAttrs {
  std::vector<int64_t> strides, dilations, pads;
};
SpatialAttrs read_spatial_attrs(const NodeView& node, uint32_t spatial_rank);

// A list attribute of `count` entries in [low, 2^30], or `count` times `fallback`.
std::vector<int64_t> read_list(const NodeView& node, uint32_t key, const char* name, size_t count, int64_t fallback,
                               int64_t low);

// Checks that the spatial rank of x is 1 to 3 and returns it.
uint32_t spatial_rank(const NodeView& node, const Operand& x);

// The window of x [N, C, in...] and y [N, M, out...], the right `kernel` taps per axis. Extents are not checked.
Window make_window(const Operand& x, const Operand& y, const std::vector<int64_t>& kernel, const SpatialAttrs& attrs);

// How many windows fit: floor or ceil of (in + pads - reach) / stride, plus 1; at least 0. With ceil, a window that
// would start in the padding after the input is dropped.
int64_t window_count(int64_t in, int64_t pad_begin, int64_t pad_end, int64_t kernel, int64_t stride, int64_t dilation,
                     bool ceil);

// Writes out[j] = row[(start + j·step)·row_stride] for j < count, `pad` where the coordinate is outside [0, extent).
void read_padded(const float* row, int64_t row_stride, int64_t extent, int64_t start, int64_t step, int64_t count,
                 float pad, float* out);

// Writes what tap `tap` (flat) meets at the flat output positions [first, first + count), zero in the padding.
void read_tap(const Window& window, const float* plane, int64_t tap, int64_t first, int64_t count, float* out);

}  // namespace backplane_cpu
