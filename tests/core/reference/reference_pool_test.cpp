#include "evaluation.hpp"

namespace backplane::reference {
namespace {

AttrList window(I64s kernel, I64s strides, I64s pads, bool ceil = false) {
  return {{BP_ATTR_KERNEL_SHAPE, kernel},
          {BP_ATTR_STRIDES, strides},
          {BP_ATTR_PADS, pads},
          {BP_ATTR_CEIL_MODE, int64_t{ceil}}};
}

TEST(ReferenceMaxPool, PaddingIsNeverTheMaximum) {
  const auto y = outputs(Op::kMAX_POOL, {f32({1, 1, 3}, {-5, -2, -7})}, window({2}, {1}, {1, 1}));
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{-5, -2, -2, -7}));
  EXPECT_EQ(values<int64_t>(y[1]), (I64s{0, 1, 1, 2}));
}

TEST(ReferenceMaxPool, CeilModeDilationNanAndTies) {
  const HostTensor x = f32({1, 1, 5}, {1, 4, 4, kNan, 2});
  expect_same(values<float>(output(Op::kMAX_POOL, {x}, window({2}, {2}, {0, 0}, true))), {4, kNan, 2});
  AttrList dilated = window({2}, {1}, {0, 0});
  dilated.set(BP_ATTR_DILATIONS, I64s{2});
  expect_same(values<float>(output(Op::kMAX_POOL, {x}, dilated)), {4, kNan, 4});
  EXPECT_EQ(values<int64_t>(outputs(Op::kMAX_POOL, {x}, window({3}, {3}, {0, 0}))[1]), (I64s{1}));
}

TEST(ReferenceMaxPool, IndicesCountTheWholeTensor) {
  const HostTensor x = i8({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1});
  AttrList attrs = window({2, 2}, {1, 1}, {0, 0, 0, 0});
  const auto rows = outputs(Op::kMAX_POOL, {x}, attrs);
  EXPECT_EQ(values<int8_t>(rows[0]), (std::vector<int8_t>{5, 6, 6, 5}));
  EXPECT_EQ(values<int64_t>(rows[1]), (I64s{4, 5, 6, 7}));
  attrs.set(BP_ATTR_STORAGE_ORDER, int64_t{1});  // within a plane of 2 x 3: h + 2 w
  EXPECT_EQ(values<int64_t>(outputs(Op::kMAX_POOL, {x}, attrs)[1]), (I64s{3, 5, 6, 8}));
}

TEST(ReferenceMaxPool, LargeIntegers) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(values<int64_t>(output(Op::kMAX_POOL, {i64({1, 1, 2}, {big, big - 1})}, window({2}, {1}, {0, 0}))),
            (I64s{big}));
}

TEST(ReferenceAveragePool, Padding) {
  const HostTensor x = f32({1, 1, 3}, {2, 4, 6});
  AttrList attrs = window({2}, {1}, {1, 1});
  EXPECT_EQ(values<float>(output(Op::kAVERAGE_POOL, {x}, attrs)), (std::vector<float>{2, 3, 5, 6}));
  attrs.set(BP_ATTR_COUNT_INCLUDE_PAD, int64_t{1});
  EXPECT_EQ(values<float>(output(Op::kAVERAGE_POOL, {x}, attrs)), (std::vector<float>{1, 3, 5, 3}));
}

TEST(ReferenceAveragePool, CeilModeDoesNotCountBeyondThePadding) {
  AttrList attrs = window({3}, {2}, {0, 0}, true);
  attrs.set(BP_ATTR_COUNT_INCLUDE_PAD, int64_t{1});
  EXPECT_EQ(values<float>(output(Op::kAVERAGE_POOL, {f32({1, 1, 4}, {1, 2, 3, 5})}, attrs)),
            (std::vector<float>{2, 4}));
}

TEST(ReferenceAveragePool, TwoAndThreeDimensions) {
  EXPECT_EQ(values<float>(output(Op::kAVERAGE_POOL, {f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})},
                                 window({2, 2}, {1, 1}, {0, 0, 0, 0}))),
            (std::vector<float>{3, 4}));
  EXPECT_EQ(values<float>(output(Op::kAVERAGE_POOL, {f32({1, 1, 2, 1, 2}, {1, 2, 3, 4})},
                                 {{BP_ATTR_KERNEL_SHAPE, I64s{2, 1, 1}}})),
            (std::vector<float>{2, 3}));
}

}  // namespace
}  // namespace backplane::reference
