#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One query of one element; the values tell the weights. Scores are logs of 1, 3, 4.
struct Small {
  explicit Small(uint32_t type) : dtype(type) {}
  KernelCase with(const std::optional<TestTensor>& mask = {}, const std::optional<TestTensor>& past = {},
                  const Values& values = {1, 0, 0, 0, 1, 0, 0, 0, 1}) const {
    Random random(9);
    KernelCase c(BP_OP_ATTENTION);
    c.input(TestTensor(dtype, {1, 1, 1, 1}, {1}).scattered(random));
    c.input(TestTensor(dtype, {1, 1, 3, 1}, {0, std::log(3.0), std::log(4.0)}).scattered(random));
    c.input(TestTensor(dtype, {1, 1, 3, 3}, values).scattered(random));
    if (mask) c.input(*mask);
    if (!mask && past) c.absent();
    if (past) c.input(*past);
    c.output(TestTensor(dtype, {1, 1, 1, 3}).scattered(random));
    return c;
  }
  uint32_t dtype;
  static Tolerance tolerance() { return {2e-2, 2e-2}; }
};

TEST(AttentionTest, EveryFloatType) {
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_F16, BP_TYPE_BF16})
    Small(dtype).with().expect({{0.125, 0.375, 0.5}}, Small::tolerance());
  Small(BP_TYPE_F32).with().expect({{0.125, 0.375, 0.5}}, {1e-6, 1e-6});
}

TEST(AttentionTest, Masks) {
  const TestTensor bools(BP_TYPE_BOOL, {3}, {1, 1, 0}), nothing(BP_TYPE_BOOL, {1}, {0});
  const TestTensor numbers(BP_TYPE_F32, {1, 3}, {std::log(3.0), 0, -kInfinity});
  Small(BP_TYPE_F32).with(bools).expect({{0.25, 0.75, 0}}, {1e-6, 1e-6});
  Small(BP_TYPE_F32).with(numbers).expect({{0.5, 0.5, 0}}, {1e-6, 1e-6});
  Small(BP_TYPE_F32).with(nothing).expect({{0, 0, 0}});
  Small(BP_TYPE_F64).with(nothing).expect({{0, 0, 0}});
}

TEST(AttentionTest, WhatIsNotSeenMayBeNan) {
  const TestTensor bools(BP_TYPE_BOOL, {3}, {1, 1, 0});
  const Values bad = {1, 0, 0, 0, 1, 0, kNan, kInfinity, kNan};
  Small(BP_TYPE_F32).with(bools, {}, bad).expect({{0.25, 0.75, 0}}, {1e-6, 1e-6});
  Small(BP_TYPE_F64).with({}, TestTensor(BP_TYPE_I32, {}, {1}), bad).expect({{0.25, 0.75, 0}}, {1e-6, 1e-6});
}

TEST(AttentionTest, PastBeyondTheKeysIsADataError) {
  EXPECT_EQ(Small(BP_TYPE_F32).with({}, TestTensor(BP_TYPE_I64, {1}, {2})).data_error(), "");
  EXPECT_NE(Small(BP_TYPE_F32).with({}, TestTensor(BP_TYPE_I64, {1}, {3})).data_error(2), "");
  EXPECT_NE(Small(BP_TYPE_F32).with({}, TestTensor(BP_TYPE_I32, {}, {-1})).data_error(), "");
}

// Several blocks of queries and of keys, shared heads, causal, with a past: against sums by hand.
TEST(AttentionTest, LongAndCausalWithAPast) {
  constexpr int64_t kHeads = 4, kKeyHeads = 2, kRows = 37, kPast = 50, kKeys = 100, kDepth = 8, kWidth = 5;
  Random random(4);
  const TestTensor q = TestTensor::random(BP_TYPE_F32, {1, kHeads, kRows, kDepth}, random);
  const TestTensor k = TestTensor::random(BP_TYPE_F32, {1, kKeyHeads, kKeys, kDepth}, random);
  const TestTensor v = TestTensor::random(BP_TYPE_F32, {1, kKeyHeads, kKeys, kWidth}, random);
  Values expected;
  for (int64_t h = 0; h < kHeads; ++h)
    for (int64_t i = 0; i < kRows; ++i) {
      double sums[kWidth] = {}, total = 0;
      for (int64_t j = 0; j <= kPast + i; ++j) {
        const int64_t key = h / 2 * kKeys + j;
        double score = 0;
        for (int64_t d = 0; d < kDepth; ++d) score += q.get((h * kRows + i) * kDepth + d) * k.get(key * kDepth + d);
        const double weight = std::exp(score / std::sqrt(8.0));
        total += weight;
        for (int64_t d = 0; d < kWidth; ++d) sums[d] += weight * v.get(key * kWidth + d);
      }
      for (const double sum : sums) expected.push_back(sum / total);
    }
  KernelCase c(BP_OP_ATTENTION);
  c.input(q).input(k).input(v).absent().input(TestTensor(BP_TYPE_I64, {1}, {kPast}));
  c.output(BP_TYPE_F32, {1, kHeads, kRows, kWidth}).attr(BP_ATTR_CAUSAL, 1).expect({expected}, {1e-5, 1e-5});
}

TEST(AttentionTest, Refusals) {
  KernelCase heads(BP_OP_ATTENTION);
  const TestTensor q(BP_TYPE_F32, {1, 3, 1, 1}), k(BP_TYPE_F32, {1, 2, 1, 1});
  EXPECT_NE(heads.input(q).input(k).input(k).output(BP_TYPE_F32, {1, 3, 1, 1}).refusal(), "");
  KernelCase types(BP_OP_ATTENTION);
  const TestTensor wide(BP_TYPE_F64, {1, 3, 1, 1});
  EXPECT_NE(types.input(q).input(wide).input(wide).output(BP_TYPE_F32, {1, 3, 1, 1}).refusal(), "");
  KernelCase mask(BP_OP_ATTENTION);
  mask.input(q).input(q).input(q).input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {1, 3, 1, 1});
  EXPECT_NE(mask.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
