// Random nodes of convolutions, im2col and pools.
#include <algorithm>

#include "families.hpp"

namespace backplane::testing {
namespace {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  int64_t covers(size_t axis) const { return dilations[axis] * (kernel[axis] - 1) + 1; }
};

// A window over `axes` spatial axes; its attributes are set, some left out where they have their default.
Window add_window(NodeCase& node, size_t axes) {
  Random& random = node.random;
  const auto list = [&](uint32_t key, size_t count, int64_t fallback, int64_t most) {
    if (random.chance(40)) return std::vector<int64_t>(count, fallback);
    std::vector<int64_t> values = random_list(random, count, fallback, most);
    node.attrs.set(key, values);
    return values;
  };
  Window window;
  window.kernel = random_list(random, axes, 1, axes == 3 ? 3 : 5);
  if (random.chance(30)) std::fill(window.kernel.begin(), window.kernel.end(), random.pick<int64_t>({1, 3}));
  window.strides = list(BP_ATTR_STRIDES, axes, 1, 3);
  window.dilations = list(BP_ATTR_DILATIONS, axes, 1, 3);
  window.pads = list(BP_ATTR_PADS, 2 * axes, 0, 3);
  return window;
}

// Extents that the window fits into.
std::vector<int64_t> spatial_shape(NodeCase& node, const Window& window) {
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const int64_t pads = window.pads[axis] + window.pads[axis + window.kernel.size()];
    const int64_t least = std::max<int64_t>(window.covers(axis) - pads, 1);
    shape.push_back(least + node.random.between(0, node.random.chance(20) ? 24 : 6));
  }
  return shape;
}

Shape joined(Shape head, const std::vector<int64_t>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

struct Channels {
  int64_t batch, group, in, out;  // in and out: per group
};

Channels random_channels(NodeCase& node) {
  Random& random = node.random;
  const bool depthwise = random.chance(25);
  Channels channels{random.between(1, 3), random.chance(50) ? 1 : random.between(2, 4), random.between(1, 5),
                    random.between(1, 6)};
  if (depthwise) channels = {channels.batch, random.between(2, 20), 1, random.chance(70) ? 1 : 2};
  if (random.chance(3)) channels.batch = 0;
  if (random.chance(15) && !depthwise) channels.out = random.between(7, 40);
  if (channels.group != 1 || random.chance(50)) node.attrs.set(BP_ATTR_GROUP, channels.group);
  return channels;
}

void finish_conv(NodeCase& node, DType dtype, int64_t terms, int64_t out_channels) {
  if (node.random.chance(50)) node.operand(dtype, {out_channels}, Values::moderate);
  node.tolerance = {.ulps = 4, .absolute = epsilon_of(dtype) * 16 * static_cast<double>(terms + 1)};
}

void make_conv(NodeCase& node) {
  const DType dtype = node.type(kFloats);
  const auto axes = static_cast<size_t>(node.random.between(1, 3));
  const Window window = add_window(node, axes);
  const Channels channels = random_channels(node);
  node.operand(dtype, joined({channels.batch, channels.in * channels.group}, spatial_shape(node, window)),
               mostly_moderate(node.random));
  node.operand(dtype, joined({channels.out * channels.group, channels.in}, window.kernel), Values::moderate);
  finish_conv(node, dtype, channels.in * element_product(window.kernel), channels.out * channels.group);
}

void make_conv_transpose(NodeCase& node) {
  const DType dtype = node.type(kFloats);
  const auto axes = static_cast<size_t>(node.random.between(1, 3));
  const Window window = add_window(node, axes);
  const Channels channels = random_channels(node);
  std::vector<int64_t> spatial = random_list(node.random, axes, 1, 6);
  for (size_t axis = 0; axis < axes; ++axis)  // enough to cut the pads off the output
    spatial[axis] = std::max(spatial[axis], window.pads[axis] + window.pads[axis + axes] + 1 - window.covers(axis) + 1);
  node.operand(dtype, joined({channels.batch, channels.in * channels.group}, spatial), mostly_moderate(node.random));
  node.operand(dtype, joined({channels.in * channels.group, channels.out}, window.kernel), Values::moderate);
  if (node.random.chance(40)) node.attrs.set(BP_ATTR_OUTPUT_PADDING, random_list(node.random, axes, 0, 2));
  finish_conv(node, dtype, channels.in * element_product(window.kernel), channels.out * channels.group);
}

void make_im2col(NodeCase& node) {
  const auto axes = static_cast<size_t>(node.random.between(1, 3));
  const Window window = add_window(node, axes);
  node.attrs.set(BP_ATTR_KERNEL_SHAPE, window.kernel);
  const Shape head = {node.random.between(node.random.chance(4) ? 0 : 1, 3), node.random.between(1, 4)};
  node.operand(node.type(kAnyType), joined(head, spatial_shape(node, window)), Values::any);
}

// Adds input and window; pads stay below what the kernel covers.
void pool(NodeCase& node, std::span<const DType> types, Values values) {
  const auto axes = static_cast<size_t>(node.random.between(1, 3));
  Window window = add_window(node, axes);
  for (size_t i = 0; i < 2 * axes; ++i) window.pads[i] = std::min(window.pads[i], window.covers(i % axes) - 1);
  node.attrs.set(BP_ATTR_PADS, window.pads);
  node.attrs.set(BP_ATTR_KERNEL_SHAPE, window.kernel);
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_CEIL_MODE, node.random.between(0, 1));
  const Shape head = {node.random.between(node.random.chance(4) ? 0 : 1, 3), node.random.between(1, 9)};
  node.operand(node.type(types), joined(head, spatial_shape(node, window)), values);
}

void make_max_pool(NodeCase& node) {
  pool(node, kNums, node.random.chance(50) ? Values::any : Values::moderate);
  node.wanted = {1, node.random.chance(40)};
  if (node.random.chance(30)) node.attrs.set(BP_ATTR_STORAGE_ORDER, node.random.between(0, 1));
  node.tolerance.absolute = kAnyZero;
}

void make_average_pool(NodeCase& node) {
  pool(node, kFloats, mostly_moderate(node.random));
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_COUNT_INCLUDE_PAD, node.random.between(0, 1));
  node.tolerance = {.ulps = 4, .absolute = epsilon_of(node.first_type()) * 16};
}

}  // namespace

std::span<const OpUnderTest> window_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kCONV, DType::kF32, make_conv},
      {Op::kCONV_TRANSPOSE, DType::kF32, make_conv_transpose},
      {Op::kIM2COL, DType::kF32, make_im2col},
      {Op::kMAX_POOL, DType::kF32, make_max_pool},
      {Op::kAVERAGE_POOL, DType::kF32, make_average_pool},
  };
  return kOps;
}

}  // namespace backplane::testing
