#include <cmath>

#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(InferenceRope, PositionsBroadcastToTheRows) {
  for (const Shape& positions : {Shape{}, Shape{5}, Shape{2, 1, 5}})
    EXPECT_EQ(shape_of(Op::kROPE, {f32({2, 3, 5, 8}), i32(positions)}), (Shape{2, 3, 5, 8}));
  EXPECT_EQ(shape_of(Op::kROPE, {f32({5, 8}), i64({5}), f32({2})}, {{BP_ATTR_ROTARY_DIM, num(4)}}), (Shape{5, 8}));
}

TEST(InferenceRope, Refusals) {
  const auto x = f32({5, 8}), at = i32({5});
  expect_refusal(Op::kROPE, {x, i32({8})}, {}, "does not broadcast to");
  expect_refusal(Op::kROPE, {x, f32({5})}, {}, "i32 or i64");
  expect_refusal(Op::kROPE, {f32({5, 7}), at}, {}, "turned in pairs");
  expect_refusal(Op::kROPE, {x, at}, {{BP_ATTR_ROTARY_DIM, num(10)}}, "rotary_dim is 10");
  expect_refusal(Op::kROPE, {x, at}, {{BP_ATTR_BASE, real(0)}}, "base is 0");
  expect_refusal(Op::kROPE, {x, at, f32({3})}, {}, "[rotary_dim / 2]");
  expect_refusal(Op::kROPE, {x, at, i32({4})}, {}, "must be f32");
  expect_refusal(Op::kROPE, {i32({5, 8}), at}, {}, "but has i32");
}

TEST(InferenceAttention, Shapes) {
  const auto q = f32({2, 6, 5, 8}), k = f32({2, 3, 9, 8}), v = f32({2, 3, 9, 4});
  EXPECT_EQ(shape_of(Op::kATTENTION, {q, k, v}), (Shape{2, 6, 5, 4}));
  for (const Shape& mask : {Shape{}, Shape{9}, Shape{5, 9}, Shape{2, 1, 1, 9}, Shape{2, 6, 5, 9}})
    EXPECT_EQ(shape_of(Op::kATTENTION, {q, k, v, boolean(mask)}), (Shape{2, 6, 5, 4}));
  EXPECT_EQ(shape_of(Op::kATTENTION, {q, k, v, f32({5, 9}), i64({2})}, {{BP_ATTR_CAUSAL, num(1)}}),
            (Shape{2, 6, 5, 4}));
  const TensorSpec half{DType::kF16, {2, 3, 9, 8}};
  EXPECT_EQ(shape_of(Op::kATTENTION, {q, half, half, std::nullopt, i32({})}), (Shape{2, 6, 5, 8}));
}

TEST(InferenceAttention, Refusals) {
  const auto q = f32({2, 6, 5, 8}), k = f32({2, 3, 9, 8});
  expect_refusal(Op::kATTENTION, {f32({6, 5, 8}), k, k}, {}, "input 0 must have rank 4");
  expect_refusal(Op::kATTENTION, {q, f32({2, 4, 9, 8}), f32({2, 4, 9, 8})}, {}, "no multiple of the 4 heads");
  expect_refusal(Op::kATTENTION, {q, f32({2, 0, 9, 8}), f32({2, 0, 9, 8})}, {}, "no multiple of the 0 heads");
  expect_refusal(Op::kATTENTION, {q, f32({2, 3, 9, 7}), k}, {}, "[B, key heads, S, D]");
  expect_refusal(Op::kATTENTION, {q, k, f32({2, 3, 8, 8})}, {}, "[B, key heads, S, Dv]");
  expect_refusal(Op::kATTENTION, {q, k, i32({2, 3, 9, 8})}, {}, "type of input 1");
  expect_refusal(Op::kATTENTION, {q, k, k, f32({4, 9})}, {}, "does not broadcast to [B, H, L, S]");
  expect_refusal(Op::kATTENTION, {q, k, k, i32({9})}, {}, "input 3 must have the type of input 0");
  expect_refusal(Op::kATTENTION, {q, k, k, std::nullopt, i64({3})}, {}, "[] or [B]");
  expect_refusal(Op::kATTENTION, {q, k, k}, {{BP_ATTR_SOFTCAP, real(-1)}}, "softcap is -1");
  expect_refusal(Op::kATTENTION, {q, k, k}, {{BP_ATTR_SCALE, real(INFINITY)}}, "scale is inf");
}

}  // namespace
}  // namespace backplane
