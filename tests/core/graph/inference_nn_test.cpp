#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

// ---- convolution

TEST(InferenceConv, OutputExtents) {
  const Inputs inputs = {f32({2, 3, 10, 9}), f32({8, 3, 3, 2}), f32({8})};
  EXPECT_EQ(shape_of(Op::kCONV, inputs), (Shape{2, 8, 8, 8}));
  EXPECT_EQ(
      shape_of(
          Op::kCONV, inputs,
          {{BP_ATTR_STRIDES, list({2, 3})}, {BP_ATTR_DILATIONS, list({2, 1})}, {BP_ATTR_PADS, list({1, 0, 2, 1})}}),
      (Shape{2, 8, 5, 3}));
}

TEST(InferenceConv, OneToThreeSpatialAxesAndGroups) {
  EXPECT_EQ(shape_of(Op::kCONV, {f32({1, 4, 5}), f32({6, 2, 3})}, {{BP_ATTR_GROUP, num(2)}}), (Shape{1, 6, 3}));
  EXPECT_EQ(shape_of(Op::kCONV, {f32({0, 4, 5, 5, 5}), f32({6, 4, 3, 3, 3})}), (Shape{0, 6, 3, 3, 3}));
  expect_refusal(Op::kCONV, {f32({1, 4}), f32({6, 4})}, {}, "rank 3 to 5");
  expect_refusal(Op::kCONV, {f32({1, 4, 5}), f32({6, 3, 3})}, {}, "C is 4");
  expect_refusal(Op::kCONV, {f32({1, 4, 5}), f32({5, 2, 3})}, {{BP_ATTR_GROUP, num(2)}}, "M = 5");
  expect_refusal(Op::kCONV, {f32({1, 4, 5}), f32({5, 2, 3})}, {{BP_ATTR_GROUP, num(0)}}, "group is 0");
}

TEST(InferenceConv, Refusals) {
  const auto x = f32({1, 4, 5}), w = f32({6, 4, 3});
  expect_refusal(Op::kCONV, {x, f32({6, 4, 3, 3})}, {}, "input 1 must have rank 3");
  expect_refusal(Op::kCONV, {x, w, f32({5})}, {}, "[M] = [6]");
  expect_refusal(Op::kCONV, {x, w, i32({6})}, {}, "input 2 must have the type");
  expect_refusal(Op::kCONV, {i32({1, 4, 5}), i32({6, 4, 3})}, {}, "but has i32");
  expect_refusal(Op::kCONV, {x, f32({6, 4, 0})}, {}, "must be positive");
  expect_refusal(Op::kCONV, {x, f32({6, 4, 6})}, {}, "does not fit");
  expect_refusal(Op::kCONV, {x, w}, {{BP_ATTR_DILATIONS, list({INT64_MAX})}}, "does not fit");
  expect_refusal(Op::kCONV, {x, w}, {{BP_ATTR_STRIDES, list({0})}}, "strides is [0]");
  expect_refusal(Op::kCONV, {x, w}, {{BP_ATTR_STRIDES, list({1, 1})}}, "strides must have 1 entries");
  expect_refusal(Op::kCONV, {x, w}, {{BP_ATTR_PADS, list({1})}}, "pads must have 2 entries");
  expect_refusal(Op::kCONV, {x, w}, {{BP_ATTR_PADS, list({-1, 0})}}, "pads is [-1, 0]");
  expect_refusal(Op::kCONV, {x, w}, {{BP_ATTR_PADS, list({INT64_MAX, INT64_MAX})}}, "2^63");
}

TEST(InferenceConvTranspose, OutputExtents) {
  const Inputs inputs = {f32({2, 4, 5}), f32({4, 3, 3}), f32({6})};
  // 2*(5-1) + 1 + 2*(3-1) + 1 - (1+2)
  EXPECT_EQ(shape_of(Op::kCONV_TRANSPOSE, inputs,
                     {{BP_ATTR_STRIDES, list({2})},
                      {BP_ATTR_OUTPUT_PADDING, list({1})},
                      {BP_ATTR_DILATIONS, list({2})},
                      {BP_ATTR_PADS, list({1, 2})},
                      {BP_ATTR_GROUP, num(2)}}),
            (Shape{2, 6, 11}));
}

TEST(InferenceConvTranspose, Refusals) {
  const auto x = f32({2, 4, 5});
  expect_refusal(Op::kCONV_TRANSPOSE, {x, f32({3, 4, 3})}, {}, "C is 4");
  expect_refusal(Op::kCONV_TRANSPOSE, {x, f32({4, 2, 3})}, {{BP_ATTR_GROUP, num(3)}}, "C = 4");
  expect_refusal(Op::kCONV_TRANSPOSE, {x, f32({4, 2, 3}), f32({3})}, {}, "[M] = [2]");
  expect_refusal(Op::kCONV_TRANSPOSE, {x, f32({4, 2, 3})}, {{BP_ATTR_PADS, list({4, 4})}}, "negative");
  expect_refusal(Op::kCONV_TRANSPOSE, {x, f32({4, 2, 3})}, {{BP_ATTR_STRIDES, list({INT64_MAX})}}, "2^63");
  expect_refusal(Op::kCONV_TRANSPOSE, {x, f32({4, 2, 3})}, {{BP_ATTR_OUTPUT_PADDING, list({-1})}}, "below 0");
}

// ---- im2col

TEST(InferenceIm2col, TapsByPlaces) {
  const AttrList attrs = {{BP_ATTR_KERNEL_SHAPE, list({3, 2})}, {BP_ATTR_PADS, list({1, 0, 1, 0})}};
  EXPECT_EQ(shape_of(Op::kIM2COL, {f32({2, 4, 5, 6})}, attrs), (Shape{2, 4 * 6, 5 * 5}));
  EXPECT_EQ(shape_of(Op::kIM2COL, {i32({2, 4, 5})}, {{BP_ATTR_KERNEL_SHAPE, list({5})}}, DType::kI32),
            (Shape{2, 20, 1}));
  expect_refusal(Op::kIM2COL, {f32({2, 4, 5})}, {}, "kernel_shape is missing");
  expect_refusal(Op::kIM2COL, {f32({2, 4, 5})}, {{BP_ATTR_KERNEL_SHAPE, list({6})}}, "does not fit");
  expect_refusal(Op::kIM2COL, {f32({4, 5})}, {{BP_ATTR_KERNEL_SHAPE, list({1})}}, "rank 3 to 5");
}

// ---- pools

AttrList pool_attrs(int64_t kernel, int64_t stride, int64_t begin, int64_t end, bool ceil) {
  return {{BP_ATTR_KERNEL_SHAPE, list({kernel})},
          {BP_ATTR_STRIDES, list({stride})},
          {BP_ATTR_PADS, list({begin, end})},
          {BP_ATTR_CEIL_MODE, num(ceil ? 1 : 0)}};
}

TEST(InferencePool, FloorAndCeil) {
  const Inputs x = {f32({1, 2, 7})};
  EXPECT_EQ(shape_of(Op::kAVERAGE_POOL, x, pool_attrs(2, 2, 0, 0, false)), (Shape{1, 2, 3}));
  EXPECT_EQ(shape_of(Op::kAVERAGE_POOL, x, pool_attrs(2, 2, 0, 0, true)), (Shape{1, 2, 4}));
}

// Against a count by hand: windows start at -begin + i*stride; the last may reach beyond the end, but with ceil_mode
// it must start before the right padding.
TEST(InferencePool, CeilModeDropsAWindowThatStartsInTheRightPadding) {
  EXPECT_EQ(shape_of(Op::kMAX_POOL, {f32({1, 1, 3})}, pool_attrs(2, 3, 1, 1, true)), (Shape{1, 1, 2}));
  EXPECT_EQ(shape_of(Op::kMAX_POOL, {f32({1, 1, 2})}, pool_attrs(2, 3, 1, 1, true)), (Shape{1, 1, 1}));
  for (int64_t in = 1; in <= 9; ++in)
    for (int64_t kernel = 1; kernel <= 4; ++kernel)
      for (int64_t stride = 1; stride <= 5; ++stride)
        for (int64_t pad = 0; pad < kernel; ++pad) {
          if (in + 2 * pad < kernel) continue;
          int64_t windows = 0;  // those that start in the input or the left padding
          for (int64_t start = -pad; start < in && (start == -pad || start + kernel - stride < in + pad);
               start += stride)
            ++windows;
          EXPECT_EQ(shape_of(Op::kMAX_POOL, {f32({1, 1, in})}, pool_attrs(kernel, stride, pad, pad, true))[2], windows)
              << "in " << in << " kernel " << kernel << " stride " << stride << " pad " << pad;
        }
}

TEST(InferencePool, MaxPoolGivesIndicesToo) {
  const AttrList attrs = {{BP_ATTR_KERNEL_SHAPE, list({2, 2})}};
  EXPECT_EQ(shape_of(Op::kMAX_POOL, {u8({1, 1, 4, 4})}, attrs, DType::kU8), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(shape_of(Op::kMAX_POOL, {u8({1, 1, 4, 4})}, attrs, DType::kI64, 1), (Shape{1, 1, 3, 3}));
}

TEST(InferencePool, Refusals) {
  const Inputs x = {f32({1, 2, 7})};
  expect_refusal(Op::kMAX_POOL, x, {}, "kernel_shape is missing");
  expect_refusal(Op::kMAX_POOL, x, {{BP_ATTR_KERNEL_SHAPE, list({0})}}, "kernel_shape is [0]");
  expect_refusal(Op::kMAX_POOL, x, {{BP_ATTR_KERNEL_SHAPE, list({2, 2})}}, "1 entries");
  expect_refusal(Op::kMAX_POOL, x, pool_attrs(2, 1, 2, 0, false), "must be below");
  expect_refusal(Op::kMAX_POOL, x, pool_attrs(8, 1, 0, 0, false), "does not fit");
  expect_refusal(Op::kAVERAGE_POOL, {i32({1, 2, 7})}, pool_attrs(2, 1, 0, 0, false), "but has i32");
  expect_refusal(Op::kMAX_POOL, x, {{BP_ATTR_KERNEL_SHAPE, list({2})}, {BP_ATTR_STORAGE_ORDER, num(2)}},
                 "storage_order");
  expect_refusal(Op::kAVERAGE_POOL, x, {{BP_ATTR_KERNEL_SHAPE, list({2})}, {BP_ATTR_CEIL_MODE, num(2)}}, "ceil_mode");
}

// ---- normalisation

TEST(InferenceNorm, ChannelNorms) {
  const auto x = f32({2, 6, 5}), c = f32({6});
  EXPECT_EQ(shape_of(Op::kBATCH_NORM, {x, c, c, c, c}), (Shape{2, 6, 5}));
  EXPECT_EQ(shape_of(Op::kBATCH_NORM, {f32({2, 6}), c, c, c, c}), (Shape{2, 6}));
  EXPECT_EQ(shape_of(Op::kINSTANCE_NORM, {x, c, c}, {{BP_ATTR_EPSILON, real(1e-3)}}), (Shape{2, 6, 5}));
  EXPECT_EQ(shape_of(Op::kGROUP_NORM, {x, c, c}, {{BP_ATTR_NUM_GROUPS, num(3)}}), (Shape{2, 6, 5}));
  expect_refusal(Op::kBATCH_NORM, {x, c, c, c, f32({5})}, {}, "input 4 must have shape [C] = [6]");
  expect_refusal(Op::kBATCH_NORM, {x, c, c, c}, {}, "5 inputs");
  expect_refusal(Op::kINSTANCE_NORM, {f32({2, 6}), c, c}, {}, "rank at least 3");
  expect_refusal(Op::kINSTANCE_NORM, {x, c, c}, {{BP_ATTR_EPSILON, real(-1)}}, "epsilon is -1");
  expect_refusal(Op::kGROUP_NORM, {x, c, c}, {{BP_ATTR_NUM_GROUPS, num(4)}}, "num_groups 4");
  expect_refusal(Op::kGROUP_NORM, {x, c, c}, {}, "num_groups is missing");
}

TEST(InferenceNorm, AxisNorms) {
  const AttrList axis = {{BP_ATTR_AXIS, num(1)}};
  EXPECT_EQ(shape_of(Op::kLAYER_NORM, {f32({2, 3, 4}), f32({3, 4}), f32({4})}, axis), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_of(Op::kRMS_NORM, {f32({2, 3, 4}), f32({})}, axis), (Shape{2, 3, 4}));
  expect_refusal(Op::kLAYER_NORM, {f32({2, 3, 4}), f32({3})}, axis, "input 1 does not broadcast");
  expect_refusal(Op::kLAYER_NORM, {f32({2, 3, 1}), f32({4})}, axis, "input 1 does not broadcast");
  expect_refusal(Op::kLAYER_NORM, {f32({2, 3, 4}), f32({4})}, {}, "axis is missing");
  expect_refusal(Op::kRMS_NORM, {f32({2, 3, 4}), i32({4})}, axis, "type of input 0");
}

TEST(InferenceNorm, Softmaxes) {
  for (Op op : {Op::kSOFTMAX, Op::kLOG_SOFTMAX, Op::kHARDMAX}) {
    EXPECT_EQ(shape_of(op, {f32({2, 3})}, {{BP_ATTR_AXIS, num(1)}}), (Shape{2, 3}));
    expect_refusal(op, {f32({2, 3})}, {{BP_ATTR_AXIS, num(2)}}, "axis is 2");
    expect_refusal(op, {f32({2, 3})}, {}, "axis is missing");
  }
}

}  // namespace
}  // namespace backplane
