#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(InferenceIndex, GatherAndScatterElements) {
  const AttrList axis{{BP_ATTR_AXIS, num(1)}};
  EXPECT_EQ(shape_of(Op::kGATHER_ELEMENTS, {f32({2, 3}), i32({1, 5})}, axis), (Shape{1, 5}));
  expect_refusal(Op::kGATHER_ELEMENTS, {f32({2, 3}), i32({3, 3})}, axis, "longer than input 0 along axis 0");
  expect_refusal(Op::kGATHER_ELEMENTS, {f32({2, 3}), i32({3})}, axis, "rank");
  expect_refusal(Op::kGATHER_ELEMENTS, {f32({2, 3}), f32({1, 3})}, axis, "i32 or i64");
  expect_refusal(Op::kGATHER_ELEMENTS, {f32({2, 3}), i32({1, 3})}, {{BP_ATTR_AXIS, num(2)}}, "axis is 2");
  EXPECT_EQ(shape_of(Op::kSCATTER_ELEMENTS, {f32({2, 3}), i32({1, 5}), f32({1, 5})}, axis), (Shape{2, 3}));
  expect_refusal(Op::kSCATTER_ELEMENTS, {f32({2, 3}), i32({1, 5}), f32({1, 4})}, axis, "that of input 1");
  expect_refusal(Op::kSCATTER_ELEMENTS, {f32({2, 3}), i32({1, 5}), i32({1, 5})}, axis, "type of input 0");
  const AttrList sum{{BP_ATTR_REDUCTION, text("add")}};
  expect_refusal(Op::kSCATTER_ELEMENTS, {boolean({2}), i32({1}), boolean({1})}, sum, "number");
  expect_refusal(Op::kSCATTER_ELEMENTS, {f32({2}), i32({1}), f32({1})}, {{BP_ATTR_REDUCTION, text("avg")}}, "avg");
}

TEST(InferenceIndex, GatherAndScatterNd) {
  EXPECT_EQ(shape_of(Op::kGATHER_ND, {f32({2, 3, 4}), i32({5, 2})}), (Shape{5, 4}));
  const AttrList batch{{BP_ATTR_BATCH_DIMS, num(1)}};
  EXPECT_EQ(shape_of(Op::kGATHER_ND, {f32({2, 3, 4}), i32({2, 5, 1})}, batch), (Shape{2, 5, 4}));
  expect_refusal(Op::kGATHER_ND, {f32({2, 3, 4}), i32({3, 5, 1})}, batch, "differ within the first 1 axes");
  expect_refusal(Op::kGATHER_ND, {f32({2, 3}), i32({5, 3})}, {}, "must be 1 to 2");
  expect_refusal(Op::kGATHER_ND, {f32({2, 3}), i32({5, 0})}, {}, "must be 1 to 2");
  expect_refusal(Op::kGATHER_ND, {f32({2, 3}), i32({5, 1})}, {{BP_ATTR_BATCH_DIMS, num(2)}}, "rank");
  EXPECT_EQ(shape_of(Op::kSCATTER_ND, {f32({2, 3}), i32({4, 1}), f32({4, 3})}), (Shape{2, 3}));
  expect_refusal(Op::kSCATTER_ND, {f32({2, 3}), i32({4, 1}), f32({4})}, {}, "one block for each tuple");
}

TEST(InferenceIndex, CumSumAndTopK) {
  EXPECT_EQ(shape_of(Op::kCUM_SUM, {f32({2, 3})}, {{BP_ATTR_AXIS, num(1)}}), (Shape{2, 3}));
  expect_refusal(Op::kCUM_SUM, {f32({2, 3})}, {{BP_ATTR_REVERSE, num(2)}}, "reverse is 2");
  EXPECT_EQ(shape_of(Op::kTOP_K, {f32({2, 3})}, {{BP_ATTR_K, num(2)}}), (Shape{2, 2}));
  expect_refusal(Op::kTOP_K, {f32({2, 3})}, {{BP_ATTR_K, num(4)}}, "k is 4");
  expect_refusal(Op::kTOP_K, {f32({2, 3})}, {}, "k is missing");
  expect_refusal(Op::kTOP_K, {boolean({2})}, {{BP_ATTR_K, num(1)}}, "number");
}

}  // namespace
}  // namespace backplane
