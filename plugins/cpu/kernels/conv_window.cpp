#include "kernels/conv_window.hpp"

#include <hwy/highway.h>

#include <cstring>

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kMaxEntry = int64_t{1} << 30;  // keeps every coordinate far from overflow

// Every second element; stops one vector early, because the last load would reach past the last element.
int64_t copy_every_second(const float* source, int64_t count, float* target) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t j = 0;
  for (; j + lanes < count; j += lanes) {
    hn::Vec<decltype(d)> even, odd;
    hn::LoadInterleaved2(d, source + 2 * j, even, odd);
    hn::StoreU(even, d, target + j);
  }
  return j;
}

void copy_strided(const float* source, int64_t stride, int64_t count, float* target) {
  if (count <= 0) return;
  if (stride == 1) {
    std::memcpy(target, source, static_cast<size_t>(count) * sizeof(float));
    return;
  }
  for (int64_t j = stride == 2 ? copy_every_second(source, count, target) : 0; j < count; ++j)
    target[j] = source[j * stride];
}

int64_t div_ceil(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

}  // namespace

std::vector<int64_t> read_list(const NodeView& node, uint32_t key, const char* name, size_t count, int64_t fallback,
                               int64_t low) {
  const auto found = node.i64s(key);
  if (found.empty()) return std::vector<int64_t>(count, fallback);
  std::vector<int64_t> list(found.begin(), found.end());
  if (list.size() != count)
    refuse_node(
        node, std::string(name) + " has " + std::to_string(list.size()) + " entries, wanted " + std::to_string(count));
  for (const int64_t value : list)
    if (value < low || value > kMaxEntry)
      refuse_node(node, std::string(name) + " is " + list_text(list) + ", wanted entries of " + std::to_string(low) +
                            " to " + std::to_string(kMaxEntry));
  return list;
}

SpatialAttrs read_spatial_attrs(const NodeView& node, uint32_t spatial_rank) {
  return {read_list(node, BP_ATTR_STRIDES, "strides", spatial_rank, 1, 1),
          read_list(node, BP_ATTR_DILATIONS, "dilations", spatial_rank, 1, 1),
          read_list(node, BP_ATTR_PADS, "pads", 2 * spatial_rank, 0, 0)};
}

uint32_t spatial_rank(const NodeView& node, const Operand& x) {
  want_rank(node, x, "x", 3, 5);
  return x.rank() - 2;
}

Window make_window(const Operand& x, const Operand& y, const std::vector<int64_t>& kernel, const SpatialAttrs& attrs) {
  Window window;
  const size_t rank = kernel.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    const size_t at = 3 - rank + axis;
    const auto tensor_axis = static_cast<uint32_t>(2 + axis);
    window.in[at] = x.shape[tensor_axis];
    window.out[at] = y.shape[tensor_axis];
    window.kernel[at] = kernel[axis];
    window.stride[at] = attrs.strides[axis];
    window.dilation[at] = attrs.dilations[axis];
    window.origin[at] = -attrs.pads[axis];
    window.x_stride[at] = x.stride(tensor_axis);
    window.y_stride[at] = y.stride(tensor_axis);
  }
  return window;
}

int64_t window_count(int64_t in, int64_t pad_begin, int64_t pad_end, int64_t kernel, int64_t stride, int64_t dilation,
                     bool ceil) {
  const int64_t room = in + pad_begin + pad_end - (dilation * (kernel - 1) + 1);
  if (room < 0) return 0;
  int64_t count = (ceil ? div_ceil(room, stride) : room / stride) + 1;
  if (ceil && (count - 1) * stride >= in + pad_begin) --count;
  return count;
}

void read_padded(const float* row, int64_t row_stride, int64_t extent, int64_t start, int64_t step, int64_t count,
                 float pad, float* out) {
  const int64_t first = std::clamp<int64_t>(div_ceil(-start, step), 0, count);
  const int64_t last = std::clamp<int64_t>(div_ceil(extent - start, step), first, count);
  for (int64_t j = 0; j < first; ++j) out[j] = pad;
  copy_strided(row + (start + first * step) * row_stride, step * row_stride, last - first, out + first);
  for (int64_t j = last; j < count; ++j) out[j] = pad;
}

void read_tap(const Window& window, const float* plane, int64_t tap, int64_t first, int64_t count, float* out) {
  const int64_t tap_w = tap % window.kernel[2];
  const int64_t tap_h = tap / window.kernel[2] % window.kernel[1];
  const int64_t tap_d = tap / window.kernel[2] / window.kernel[1];
  int64_t w = first % window.out[2];
  int64_t h = first / window.out[2] % window.out[1];
  int64_t d = first / window.out[2] / window.out[1];
  while (count > 0) {
    const int64_t run = std::min(count, window.out[2] - w);
    const int64_t at_d = window.coordinate(0, d, tap_d), at_h = window.coordinate(1, h, tap_h);
    const bool inside = window.inside(0, at_d) && window.inside(1, at_h);
    const float* row = inside ? plane + at_d * window.x_stride[0] + at_h * window.x_stride[1] : plane;
    read_padded(row, window.x_stride[2], inside ? window.in[2] : 0, window.coordinate(2, w, tap_w), window.stride[2],
                run, 0, out);
    out += run;
    count -= run;
    w = 0;
    if (++h == window.out[1]) h = 0, ++d;
  }
}

}  // namespace backplane_cpu
