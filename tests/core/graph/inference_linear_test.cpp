#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(InferenceLinear, MatmulFollowsNumPy) {
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({2, 3}), f32({3, 4})}), (Shape{2, 4}));
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({3}), f32({3})}), Shape{});
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({3}), f32({5, 3, 4})}), (Shape{5, 4}));
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({5, 2, 3}), f32({3})}), (Shape{5, 2}));
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({5, 1, 2, 3}), f32({6, 3, 4})}), (Shape{5, 6, 2, 4}));
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({2, 0}), f32({0, 4})}), (Shape{2, 4}));
  EXPECT_EQ(shape_of(Op::kMATMUL, {i32({2, 3}), i32({3, 4})}, {}, DType::kI32), (Shape{2, 4}));
}

TEST(InferenceLinear, MatmulRefusals) {
  expect_refusal(Op::kMATMUL, {f32({2, 3}), f32({4, 3})}, {}, "3 of input 0 and 4 of input 1");
  expect_refusal(Op::kMATMUL, {f32({}), f32({3})}, {}, "input 0 must have rank at least 1");
  expect_refusal(Op::kMATMUL, {f32({2, 2, 3}), f32({3, 3, 4})}, {}, "batch axes");
  expect_refusal(Op::kMATMUL, {boolean({2, 3}), boolean({3, 4})}, {}, "but has bool");
  expect_refusal(Op::kMATMUL, {f32({2, 3}), i32({3, 4})}, {}, "type of input 0");
}

TEST(InferenceLinear, Gemm) {
  EXPECT_EQ(shape_of(Op::kGEMM, {f32({2, 3}), f32({3, 4})}, {{BP_ATTR_ALPHA, real(2)}}), (Shape{2, 4}));
  for (const Shape& c : {Shape{}, Shape{4}, Shape{2, 1}, Shape{1, 1}, Shape{2, 4}})
    EXPECT_EQ(shape_of(Op::kGEMM, {f32({2, 3}), f32({3, 4}), f32(c)}), (Shape{2, 4}));
  for (const Shape& c : {Shape{3}, Shape{2}, Shape{1, 2, 4}, Shape{5, 2, 4}})
    expect_refusal(Op::kGEMM, {f32({2, 3}), f32({3, 4}), f32(c)}, {}, "input 2 does not broadcast");
  expect_refusal(Op::kGEMM, {f32({2, 3}), f32({4, 3})}, {}, "inner extents");
  expect_refusal(Op::kGEMM, {f32({3}), f32({3, 4})}, {}, "input 0 must have rank 2");
}

TEST(InferenceLinear, MatmulId) {
  EXPECT_EQ(shape_of(Op::kMATMUL_ID, {f32({5, 1, 3}), f32({8, 3, 4}), i32({5, 2})}), (Shape{5, 2, 4}));
  EXPECT_EQ(shape_of(Op::kMATMUL_ID, {f32({3}), f32({8, 3, 4}), i64({})}), (Shape{4}));
  const TensorSpec blocks{DType::kQ4_0, {8, 4, 32}};
  EXPECT_EQ(shape_of(Op::kMATMUL_ID, {f32({32}), blocks, i64({2})}), (Shape{2, 4}));
  expect_refusal(Op::kMATMUL_ID, {f32({5, 2}), f32({8, 3, 4}), i32({5})}, {}, "2 of input 0 and 3 of input 1");
  expect_refusal(Op::kMATMUL_ID, {f32({5, 3}), f32({8, 3, 4}), i32({4})}, {}, "do not broadcast to the ids");
  expect_refusal(Op::kMATMUL_ID, {f32({5, 3}), f32({3, 4}), i32({5})}, {}, "input 1 must have rank 3");
  expect_refusal(Op::kMATMUL_ID, {f32({5, 3}), f32({8, 3, 4}), f32({5})}, {}, "i32 or i64");
  expect_refusal(Op::kMATMUL_ID, {f32({5, 3}), i32({8, 3, 4}), i32({5})}, {}, "type of input 0");
}

}  // namespace
}  // namespace backplane
