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

TEST(InferenceIndex, Sort) {
  EXPECT_EQ(shape_of(Op::kSORT, {f32({2, 3})}, {{BP_ATTR_AXIS, num(0)}, {BP_ATTR_DESCENDING, num(1)}}), (Shape{2, 3}));
  EXPECT_EQ(shape_of(Op::kSORT, {f32({2, 3})}, {}, DType::kI64, 1), (Shape{2, 3}));
  expect_refusal(Op::kSORT, {f32({})}, {}, "rank");
  expect_refusal(Op::kSORT, {f32({2})}, {{BP_ATTR_AXIS, num(1)}}, "axis is 1");
  expect_refusal(Op::kSORT, {f32({2})}, {{BP_ATTR_DESCENDING, num(2)}}, "descending is 2");
}

TEST(InferenceIndex, SetRows) {
  const auto x = f32({2, 8, 4}), rows = f32({2, 3, 4});
  for (const Shape& indices : {Shape{}, Shape{3}, Shape{2, 1}, Shape{2, 3}})
    EXPECT_EQ(shape_of(Op::kSET_ROWS, {x, rows, i32(indices)}), (Shape{2, 8, 4}));
  expect_refusal(Op::kSET_ROWS, {x, rows, i64({4})}, {}, "does not broadcast to [2, 3]");
  expect_refusal(Op::kSET_ROWS, {x, rows, f32({3})}, {}, "i32 or i64");
  expect_refusal(Op::kSET_ROWS, {x, f32({2, 3, 5}), i64({3})}, {}, "but for the number of rows");
  expect_refusal(Op::kSET_ROWS, {x, f32({3, 4}), i64({3})}, {}, "input 1 must have rank 3");
  expect_refusal(Op::kSET_ROWS, {f32({4}), f32({4}), i64({})}, {}, "input 0 must have rank at least 2");
  expect_refusal(Op::kSET_ROWS, {x, i32({2, 3, 4}), i64({3})}, {}, "the type of input 0");
  expect_refusal(Op::kSET_ROWS, {i32({8, 4}), f32({3, 4}), i64({3})}, {}, "the type of input 0");
  const TensorSpec blocks{DType::kQ8_0, {8, 64}};
  EXPECT_EQ(shape_of(Op::kSET_ROWS, {blocks, f32({3, 64}), i64({3})}, {}, DType::kQ8_0), (Shape{8, 64}));
}

}  // namespace
}  // namespace backplane
