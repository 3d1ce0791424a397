#include "evaluation.hpp"

namespace backplane::reference {
namespace {

HostTensor counting(Shape shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<float>(i));
  return f32(std::move(shape), numbers);
}

TEST(ReferenceConv, OneDimension) {
  const HostTensor x = f32({1, 1, 4}, {1, 2, 3, 4}), w = f32({1, 1, 2}, {10, 1});  // not flipped
  EXPECT_EQ(values<float>(output(Op::kCONV, {x, w})), (std::vector<float>{12, 23, 34}));
  EXPECT_EQ(values<float>(
                output(Op::kCONV, {x, w, f32({1}, {0.5f})}, {{BP_ATTR_PADS, I64s{1, 0}}, {BP_ATTR_STRIDES, I64s{2}}})),
            (std::vector<float>{1.5f, 23.5f}));
  EXPECT_EQ(values<float>(output(Op::kCONV, {x, w}, {{BP_ATTR_DILATIONS, I64s{2}}})), (std::vector<float>{13, 24}));
}

TEST(ReferenceConv, TwoDimensionsWithPadding) {
  const HostTensor ones = f32({1, 1, 3, 3}, std::vector<float>(9, 1));
  const HostTensor y = output(Op::kCONV, {counting({1, 1, 3, 3}), ones}, {{BP_ATTR_PADS, I64s{1, 1, 1, 1}}});
  EXPECT_EQ(values<float>(y), (std::vector<float>{8, 15, 12, 21, 36, 27, 20, 33, 24}));
}

TEST(ReferenceConv, ChannelsAndGroups) {
  const HostTensor x = f32({1, 2, 1}, {3, 5});
  EXPECT_EQ(values<float>(output(Op::kCONV, {x, f32({2, 2, 1}, {1, 10, 100, 1000})})), (std::vector<float>{53, 5300}));
  EXPECT_EQ(values<float>(output(Op::kCONV, {x, f32({4, 1, 1}, {1, 2, 3, 4})}, {{BP_ATTR_GROUP, int64_t{2}}})),
            (std::vector<float>{3, 6, 15, 20}));
}

TEST(ReferenceConv, ThreeDimensions) {
  const HostTensor y = output(Op::kCONV, {counting({1, 1, 2, 2, 2}), f32({1, 1, 2, 1, 2}, {1, 1, 1, 1})});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 2, 1}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{0 + 1 + 4 + 5, 2 + 3 + 6 + 7}));
}

TEST(ReferenceConvTranspose, OneDimension) {
  const HostTensor x = f32({1, 1, 2}, {1, 2}), w = f32({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(values<float>(output(Op::kCONV_TRANSPOSE, {x, w})), (std::vector<float>{1, 12, 120, 200}));
  EXPECT_EQ(values<float>(
                output(Op::kCONV_TRANSPOSE, {x, w, f32({1}, {0.5f})},
                       {{BP_ATTR_STRIDES, I64s{2}}, {BP_ATTR_PADS, I64s{1, 0}}, {BP_ATTR_OUTPUT_PADDING, I64s{1}}})),
            (std::vector<float>{10.5f, 102.5f, 20.5f, 200.5f, 0.5f}));
  EXPECT_EQ(values<float>(output(Op::kCONV_TRANSPOSE, {x, w}, {{BP_ATTR_DILATIONS, I64s{2}}})),
            (std::vector<float>{1, 2, 10, 20, 100, 200}));
}

TEST(ReferenceConvTranspose, ChannelsAndGroups) {
  const HostTensor x = f32({1, 2, 1}, {3, 5});
  EXPECT_EQ(values<float>(output(Op::kCONV_TRANSPOSE, {x, f32({2, 2, 1}, {1, 10, 100, 1000})})),
            (std::vector<float>{503, 5030}));
  EXPECT_EQ(
      values<float>(output(Op::kCONV_TRANSPOSE, {x, f32({2, 2, 1}, {1, 2, 3, 4})}, {{BP_ATTR_GROUP, int64_t{2}}})),
      (std::vector<float>{3, 6, 15, 20}));
}

TEST(ReferenceConvTranspose, TwoDimensions) {
  const HostTensor y = output(Op::kCONV_TRANSPOSE, {f32({1, 1, 1, 2}, {1, 2}), f32({1, 1, 2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{1, 4, 4, 3, 10, 8}));
}

TEST(ReferenceIm2col, AColumnForEachPlace) {
  const HostTensor y =
      output(Op::kIM2COL, {counting({1, 2, 3})}, {{BP_ATTR_KERNEL_SHAPE, I64s{2}}, {BP_ATTR_PADS, I64s{0, 1}}});
  EXPECT_EQ(y.shape(), (Shape{1, 4, 3}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{0, 1, 2, 1, 2, 0, 3, 4, 5, 4, 5, 0}));
}

// y = w · im2col(x) is what the op is for.
TEST(ReferenceIm2col, TimesWeightsIsAConvolution) {
  const HostTensor x = counting({1, 2, 4, 3}), w = counting({3, 2, 2, 2});
  const AttrList attrs = {
      {BP_ATTR_STRIDES, I64s{2, 1}}, {BP_ATTR_DILATIONS, I64s{1, 2}}, {BP_ATTR_PADS, I64s{1, 0, 0, 1}}};
  AttrList with_kernel = attrs;
  with_kernel.set(BP_ATTR_KERNEL_SHAPE, I64s{2, 2});
  const HostTensor columns = output(Op::kIM2COL, {x}, with_kernel);
  const HostTensor flat = counting({3, 8});
  EXPECT_EQ(values<float>(output(Op::kMATMUL, {flat, columns})), values<float>(output(Op::kCONV, {x, w}, attrs)));
}

}  // namespace
}  // namespace backplane::reference
