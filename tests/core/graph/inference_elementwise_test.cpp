#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(InferenceElementwise, UnaryKeepsShapeAndType) {
  for (Op op : {Op::kABS, Op::kEXP, Op::kRELU, Op::kGELU, Op::kSELU, Op::kHARD_SWISH, Op::kCLIP, Op::kMISH, Op::kERF})
    EXPECT_EQ(shape_of(op, {f32({2, 0, 3})}), (Shape{2, 0, 3})) << op_name(op);
  EXPECT_EQ(shape_of(Op::kNEG, {i32({})}, {}, DType::kI32), Shape{});
  EXPECT_EQ(shape_of(Op::kBITWISE_NOT, {u8({4})}, {}, DType::kU8), Shape{4});
  EXPECT_EQ(shape_of(Op::kNOT, {boolean({4})}, {}, DType::kBOOL), Shape{4});
}

TEST(InferenceElementwise, UnaryTypes) {
  expect_refusal(Op::kEXP, {i32({2})}, {}, "but has i32");
  expect_refusal(Op::kABS, {boolean({2})}, {}, "but has bool");
  expect_refusal(Op::kNOT, {u8({2})}, {}, "must have bool");
  expect_refusal(Op::kBITWISE_NOT, {f32({2})}, {}, "integer");
  expect_refusal(Op::kRELU, {TensorSpec{DType::kQ8_0, {32}}}, {}, "but has q8_0");
}

TEST(InferenceElementwise, TestsOfFloatsGiveBool) {
  EXPECT_EQ(shape_of(Op::kIS_NAN, {f32({3})}, {}, DType::kBOOL), Shape{3});
  EXPECT_EQ(shape_of(Op::kIS_INF, {f32({3})}, {{BP_ATTR_DETECT_NEGATIVE, num(0)}}, DType::kBOOL), Shape{3});
  expect_refusal(Op::kIS_INF, {f32({3})}, {{BP_ATTR_DETECT_NEGATIVE, num(2)}}, "detect_negative is 2");
  expect_refusal(Op::kIS_NAN, {i32({3})}, {}, "but has i32");
}

TEST(InferenceElementwise, AttributeValues) {
  EXPECT_EQ(shape_of(Op::kGELU, {f32({3})}, {{BP_ATTR_APPROXIMATE, text("tanh")}}), Shape{3});
  expect_refusal(Op::kGELU, {f32({3})}, {{BP_ATTR_APPROXIMATE, text("tan")}}, "did you mean 'tanh'");
  expect_refusal(Op::kCELU, {f32({3})}, {{BP_ATTR_ALPHA, real(0)}}, "alpha is 0");
}

TEST(InferenceElementwise, ClipBoundsAreScalarsOfTheSameType) {
  EXPECT_EQ(shape_of(Op::kCLIP, {f32({3}), std::nullopt, f32({})}), Shape{3});
  expect_refusal(Op::kCLIP, {f32({3}), f32({3})}, {}, "input 1 must be a scalar");
  expect_refusal(Op::kCLIP, {f32({3}), f32({}), i32({})}, {}, "input 2 must have the type of input 0");
}

TEST(InferenceElementwise, BinaryBroadcasts) {
  EXPECT_EQ(shape_of(Op::kADD, {f32({4, 1}), f32({3})}), (Shape{4, 3}));
  EXPECT_EQ(shape_of(Op::kLT, {i32({4, 1}), i32({3})}, {}, DType::kBOOL), (Shape{4, 3}));
  EXPECT_EQ(shape_of(Op::kEQ, {boolean({2}), boolean({})}, {}, DType::kBOOL), Shape{2});
  EXPECT_EQ(shape_of(Op::kXOR, {boolean({2}), boolean({})}, {}, DType::kBOOL), Shape{2});
  EXPECT_EQ(shape_of(Op::kBITWISE_OR, {i32({2}), i32({})}, {}, DType::kI32), Shape{2});
  EXPECT_EQ(shape_of(Op::kSHIFT_LEFT, {u8({2}), u8({})}, {}, DType::kU8), Shape{2});
  expect_refusal(Op::kMUL, {f32({2}), f32({3})}, {}, "do not broadcast");
}

TEST(InferenceElementwise, BinaryTypes) {
  expect_refusal(Op::kSUB, {f32({2}), i32({2})}, {}, "type of input 0");
  expect_refusal(Op::kADD, {boolean({2}), boolean({2})}, {}, "but has bool");
  expect_refusal(Op::kLT, {boolean({2}), boolean({2})}, {}, "but has bool");
  expect_refusal(Op::kAND, {u8({2}), u8({2})}, {}, "must have bool");
  expect_refusal(Op::kSHIFT_RIGHT, {i32({2}), i32({2})}, {}, "unsigned");
  expect_refusal(Op::kBITWISE_AND, {f32({2}), f32({2})}, {}, "integer");
}

TEST(InferenceElementwise, PowTakesAnotherTypeOfExponent) {
  EXPECT_EQ(shape_of(Op::kPOW, {i32({2}), f32({})}, {}, DType::kI32), Shape{2});
  expect_refusal(Op::kPOW, {f32({2}), boolean({})}, {}, "input 1");
}

TEST(InferenceElementwise, ModOfFloatsNeedsFmod) {
  EXPECT_EQ(shape_of(Op::kMOD, {f32({2}), f32({})}, {{BP_ATTR_FMOD, num(1)}}), Shape{2});
  EXPECT_EQ(shape_of(Op::kMOD, {i32({2}), i32({})}, {}, DType::kI32), Shape{2});
  expect_refusal(Op::kMOD, {f32({2}), f32({})}, {}, "fmod = 1");
}

TEST(InferenceElementwise, PreluSlopeBroadcastsToX) {
  EXPECT_EQ(shape_of(Op::kPRELU, {f32({2, 3}), f32({3})}), (Shape{2, 3}));
  expect_refusal(Op::kPRELU, {f32({3}), f32({2, 3})}, {}, "slope [2, 3]");
}

TEST(InferenceElementwise, WhereBroadcastsAllThree) {
  EXPECT_EQ(shape_of(Op::kWHERE, {boolean({2, 1}), i64({3}), i64({})}, {}, DType::kI64), (Shape{2, 3}));
  expect_refusal(Op::kWHERE, {u8({2}), f32({2}), f32({2})}, {}, "must have bool");
  expect_refusal(Op::kWHERE, {boolean({2}), f32({2}), i32({2})}, {}, "input 2 must have the type of input 1");
  expect_refusal(Op::kWHERE, {boolean({3}), f32({2}), f32({2})}, {}, "do not broadcast");
}

}  // namespace
}  // namespace backplane
