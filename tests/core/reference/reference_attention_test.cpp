#include "evaluation.hpp"

namespace backplane::reference {
namespace {

// ---- rope

TEST(ReferenceRope, TurnsNeighboursOrHalves) {
  // Frequencies 1 and 1/100: base 10000, four elements.
  const HostTensor x = f32({1, 4}, {1, 0, 0, 1}), at = i64({1}, {2});
  const float c = std::cos(2.0f), s = std::sin(2.0f), slow_c = std::cos(0.02f), slow_s = std::sin(0.02f);
  expect_near(output(Op::kROPE, {x, at}, {{BP_ATTR_INTERLEAVED, int64_t{1}}}), {c, s, -slow_s, slow_c});
  expect_near(output(Op::kROPE, {x, at}), {c, -slow_s, s, slow_c});
}

TEST(ReferenceRope, BaseScaleAndFactors) {
  const HostTensor x = f32({1, 4}, {1, 1, 0, 0}), at = i32({}, {8});
  const AttrList attrs = {{BP_ATTR_BASE, 16.0}, {BP_ATTR_SCALE, 0.5}};  // angles 4 and 1
  expect_near(output(Op::kROPE, {x, at}, attrs), {std::cos(4.0f), std::cos(1.0f), std::sin(4.0f), std::sin(1.0f)});
  expect_near(output(Op::kROPE, {x, at, f32({2}, {4, 2})}, attrs),
              {std::cos(1.0f), std::cos(0.5f), std::sin(1.0f), std::sin(0.5f)});
}

TEST(ReferenceRope, TheRestOfARowStays) {
  const HostTensor x = f32({2, 1, 3}, {1, 0, 7, 1, 0, 8}), at = i64({2, 1}, {0, 1});
  expect_near(output(Op::kROPE, {x, at}, {{BP_ATTR_ROTARY_DIM, int64_t{2}}}),
              {1, 0, 7, std::cos(1.0f), std::sin(1.0f), 8});
}

// ---- attention

// Keys of which query 1 makes the scores log(1), log(3), log(4); the values tell the weights.
const HostTensor kQuery = f32({1, 1, 1, 1}, {1});
const HostTensor kKeys = f32({1, 1, 3, 1}, {0, std::log(3.0f), std::log(4.0f)});
const HostTensor kValues = f32({1, 1, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});

TEST(ReferenceAttention, WeighsByTheSoftmaxOfScaledProducts) {
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues}), {0.125f, 0.375f, 0.5f});
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues}, {{BP_ATTR_SCALE, 0.0}}), {1 / 3.f, 1 / 3.f, 1 / 3.f});
  const HostTensor wide = f32({1, 1, 1, 4}, {2, 0, 0, 0});  // 1/sqrt(4)
  const HostTensor keys = f32({1, 1, 2, 4}, {0, 0, 0, 0, std::log(3.0f), 0, 0, 0});
  expect_near(output(Op::kATTENTION, {wide, keys, f32({1, 1, 2, 1}, {0, 1})}), {0.75f});
}

TEST(ReferenceAttention, MasksAreBoolsOrAreAdded) {
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues, boolean({3}, {1, 1, 0})}), {0.25f, 0.75f, 0});
  const HostTensor added = f32({1, 3}, {std::log(3.0f), 0, -kInf});
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues, added}), {0.5f, 0.5f, 0});
}

TEST(ReferenceAttention, SoftcapComesBeforeTheMask) {
  const HostTensor added = f32({3}, {-kInf, 0, 0});
  const float a = std::tanh(std::log(3.0f)), b = std::tanh(std::log(4.0f));
  const float second = 1 / (1 + std::exp(b - a));
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues, added}, {{BP_ATTR_SOFTCAP, 1.0}}),
              {0, second, 1 - second});
}

TEST(ReferenceAttention, CausalRowsSeeWhatCameBefore) {
  const HostTensor two = f32({1, 1, 2, 1}, {1, 1});
  const AttrList causal = {{BP_ATTR_CAUSAL, int64_t{1}}};
  expect_near(output(Op::kATTENTION, {two, kKeys, kValues}, causal), {1, 0, 0, 0.25f, 0.75f, 0});
  expect_near(output(Op::kATTENTION, {two, kKeys, kValues, {}, i64({}, {1})}, causal),
              {0.25f, 0.75f, 0, 0.125f, 0.375f, 0.5f});
}

TEST(ReferenceAttention, RowsBehindTheLiveOnesAreNotLookedAt) {
  HostTensor keys = f32({1, 1, 3, 1}, {0, std::log(3.0f), kNan}), values_of = kValues;
  expect_near(output(Op::kATTENTION, {kQuery, keys, kValues, {}, i32({1}, {1})}), {0.25f, 0.75f, 0});
  EXPECT_EQ(failure(Op::kATTENTION, {kQuery, keys, kValues, {}, i32({1}, {3})}), Code::out_of_range);
  EXPECT_EQ(failure(Op::kATTENTION, {kQuery, keys, kValues, {}, i32({1}, {-1})}), Code::out_of_range);
}

TEST(ReferenceAttention, ARowThatSeesNothingIsZero) {
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues, boolean({3}, {0, 0, 0})}), {0, 0, 0});
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, kValues, f32({3}, {-kInf, -kInf, -kInf})}), {0, 0, 0});
}

TEST(ReferenceAttention, WhatIsNotSeenMayBeNan) {
  const HostTensor bad = f32({1, 1, 3, 1}, {1, kNan, 1});
  expect_near(output(Op::kATTENTION, {kQuery, kKeys, bad, boolean({3}, {1, 0, 1})}), {1});
  EXPECT_TRUE(std::isnan(values<float>(output(Op::kATTENTION, {kQuery, kKeys, bad}))[0]));
}

TEST(ReferenceAttention, QueryHeadsShareKeyHeads) {
  const HostTensor q = f32({1, 4, 1, 1}, {0, 0, 0, 0}), k = f32({1, 2, 1, 1}, {1, 1}), v = f32({1, 2, 1, 1}, {5, 6});
  EXPECT_EQ(values<float>(output(Op::kATTENTION, {q, k, v})), (std::vector<float>{5, 5, 6, 6}));
}

}  // namespace
}  // namespace backplane::reference
