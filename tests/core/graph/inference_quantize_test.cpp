#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(InferenceQuantize, Quantize) {
  EXPECT_EQ(shape_of(Op::kQUANTIZE_LINEAR, {f32({2, 3}), f32({2, 1}), u8({3})}, {}, DType::kU8), (Shape{2, 3}));
  EXPECT_EQ(shape_of(Op::kQUANTIZE_LINEAR, {f32({2}), f32({})}, {{BP_ATTR_TO, num(BP_TYPE_I16)}}, DType::kI16),
            Shape{2});
  expect_refusal(Op::kQUANTIZE_LINEAR, {f32({2}), f32({})}, {{BP_ATTR_TO, num(BP_TYPE_I32)}}, "u8, i8, u16 or i16");
  expect_refusal(Op::kQUANTIZE_LINEAR, {f32({2}), f32({3})}, {}, "input 1 does not broadcast");
  expect_refusal(Op::kQUANTIZE_LINEAR, {f32({2}), f32({}), i32({})}, {}, "the output's type");
  expect_refusal(Op::kQUANTIZE_LINEAR, {i32({2}), i32({})}, {}, "f64, f32, f16 or bf16");
}

TEST(InferenceQuantize, Dequantize) {
  EXPECT_EQ(shape_of(Op::kDEQUANTIZE_LINEAR, {u8({2, 3}), f32({})}, {}, DType::kF32), (Shape{2, 3}));
  expect_refusal(Op::kDEQUANTIZE_LINEAR, {u8({2}), f32({}), i32({})}, {}, "type of input 0");
  expect_refusal(Op::kDEQUANTIZE_LINEAR, {f32({2}), f32({})}, {}, "integer");
  expect_refusal(Op::kDYNAMIC_QUANTIZE_LINEAR, {u8({2})}, {}, "f64, f32");
}

TEST(InferenceQuantize, Blocks) {
  const auto q8 = [](Shape shape) { return std::optional(TensorSpec{DType::kQ8_0, std::move(shape)}); };
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({5, 64}), q8({7, 64})}), (Shape{5, 7}));
  EXPECT_EQ(shape_of(Op::kMATMUL, {f32({64}), q8({2, 7, 64})}), (Shape{2, 7}));
  expect_refusal(Op::kMATMUL, {f32({5, 32}), q8({7, 64})}, {}, "inner extents differ");
  expect_refusal(Op::kMATMUL, {i32({5, 64}), q8({7, 64})}, {}, "f64, f32");
  expect_refusal(Op::kMATMUL, {f32({64}), q8({64})}, {}, "rank");
  EXPECT_EQ(shape_of(Op::kCAST, {f32({2, 64})}, {{BP_ATTR_TO, num(BP_TYPE_Q8_0)}}, DType::kQ8_0), (Shape{2, 64}));
  EXPECT_EQ(shape_of(Op::kCAST, {q8({2, 64})}, {{BP_ATTR_TO, num(BP_TYPE_F16)}}, DType::kF16), (Shape{2, 64}));
  expect_refusal(Op::kCAST, {f32({2, 40})}, {{BP_ATTR_TO, num(BP_TYPE_Q8_0)}}, "multiple");
  expect_refusal(Op::kCAST, {q8({2, 64})}, {{BP_ATTR_TO, num(BP_TYPE_I32)}}, "floats only");
  EXPECT_EQ(shape_of(Op::kGATHER, {q8({3, 64}), i64({5})}, {}, DType::kQ8_0), (Shape{5, 64}));
  expect_refusal(Op::kGATHER, {q8({3, 64}), i64({5})}, {{BP_ATTR_AXIS, num(1)}}, "must not be the last");
  expect_refusal(Op::kADD, {q8({64}), q8({64})}, {}, "number type");
}

TEST(InferenceQuantize, IntegerProducts) {
  EXPECT_EQ(shape_of(Op::kMATMUL_INTEGER, {u8({2, 3}), u8({3, 4}), u8({2, 1}), u8({4})}, {}, DType::kI32),
            (Shape{2, 4}));
  expect_refusal(Op::kMATMUL_INTEGER, {u8({2, 3}), u8({3, 4}), i32({})}, {}, "type of input 0");
  expect_refusal(Op::kMATMUL_INTEGER, {i32({2, 3}), u8({3, 4})}, {}, "u8 or i8");
  expect_refusal(Op::kMATMUL_INTEGER, {u8({2, 3}), u8({3, 4}), u8({4})}, {}, "does not broadcast");
  EXPECT_EQ(shape_of(Op::kCONV_INTEGER, {u8({1, 1, 5}), u8({2, 1, 3})}, {}, DType::kI32), (Shape{1, 2, 3}));
}

}  // namespace
}  // namespace backplane
