#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(InferenceReduction, AxesGoOrStayAsOne) {
  EXPECT_EQ(shape_of(Op::kREDUCE_SUM, {f32({2, 3, 4})}, {{BP_ATTR_AXES, list({0, 2})}}), (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of(Op::kREDUCE_MEAN, {f32({2, 3, 4})}, {{BP_ATTR_AXES, list({0, 2})}, {BP_ATTR_KEEPDIMS, num(0)}}),
            Shape{3});
  EXPECT_EQ(shape_of(Op::kREDUCE_MAX, {f32({0})}, {{BP_ATTR_AXES, list({0})}, {BP_ATTR_KEEPDIMS, num(0)}}), Shape{});
}

TEST(InferenceReduction, NoAxesReduceNothing) { EXPECT_EQ(shape_of(Op::kREDUCE_L2, {f32({2, 3})}), (Shape{2, 3})); }

TEST(InferenceReduction, AxesMustAscendInRange) {
  for (const Shape& axes : {Shape{1, 0}, Shape{1, 1}, Shape{2}, Shape{-1}})
    expect_refusal(Op::kREDUCE_SUM, {f32({2, 3})}, {{BP_ATTR_AXES, list(axes)}}, "axes are");
  expect_refusal(Op::kREDUCE_SUM, {f32({})}, {{BP_ATTR_AXES, list({0})}}, "within [0, 0)");
  expect_refusal(Op::kREDUCE_SUM, {f32({2})}, {{BP_ATTR_KEEPDIMS, num(2)}}, "keepdims is 2");
}

TEST(InferenceReduction, OnlyMaxAndMinTakeBool) {
  EXPECT_EQ(shape_of(Op::kREDUCE_MAX, {boolean({2})}, {{BP_ATTR_AXES, list({0})}}, DType::kBOOL), Shape{1});
  expect_refusal(Op::kREDUCE_SUM, {boolean({2})}, {}, "but has bool");
}

TEST(InferenceReduction, ArgGivesIndices) {
  EXPECT_EQ(shape_of(Op::kARG_MAX, {f32({2, 3})}, {}, DType::kI64), (Shape{1, 3}));
  EXPECT_EQ(shape_of(Op::kARG_MIN, {f32({2, 3})}, {{BP_ATTR_AXIS, num(1)}, {BP_ATTR_KEEPDIMS, num(0)}}, DType::kI64),
            Shape{2});
  expect_refusal(Op::kARG_MAX, {f32({2, 3})}, {{BP_ATTR_AXIS, num(2)}}, "axis is 2");
  expect_refusal(Op::kARG_MAX, {f32({})}, {}, "in [0, 0)");
  expect_refusal(Op::kARG_MAX, {f32({0, 3})}, {}, "no element");
  EXPECT_EQ(shape_of(Op::kARG_MAX, {f32({0, 0})}, {}, DType::kI64), (Shape{1, 0}));
}

}  // namespace
}  // namespace backplane
