#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

using Function = std::function<double(double, double)>;

// What a and b broadcast to, and f of them.
Values broadcast_apply(const TestTensor& a, const TestTensor& b, const Shape& shape, const Function& f) {
  const TestTensor wide_a = a.broadcast(shape), wide_b = b.broadcast(shape);
  Values result;
  for (int64_t i = 0; i < wide_a.elements(); ++i) result.push_back(f(wide_a.get(i), wide_b.get(i)));
  return result;
}

const std::vector<std::pair<uint32_t, Function>>& arithmetic() {
  static const std::vector<std::pair<uint32_t, Function>> ops = {
      {BP_OP_ADD, [](double a, double b) { return a + b; }},
      {BP_OP_SUB, [](double a, double b) { return a - b; }},
      {BP_OP_MUL, [](double a, double b) { return a * b; }},
      {BP_OP_DIV, [](double a, double b) { return a / b; }},
      {BP_OP_MIN, [](double a, double b) { return std::min(a, b); }},
      {BP_OP_MAX, [](double a, double b) { return std::max(a, b); }},
      {BP_OP_PRELU, [](double a, double b) { return a < 0 ? a * b : a; }},
  };
  return ops;
}

TEST(BinaryTest, FloatArithmetic) {
  Random random(1);
  for (const uint32_t type : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_F16, BP_TYPE_BF16}) {
    const double epsilon = type == BP_TYPE_F16 ? 0x1p-11 : type == BP_TYPE_BF16 ? 0x1p-8 : 0x1p-23;
    for (const auto& [op, f] : arithmetic()) {
      SCOPED_TRACE(std::string(backplane::sdk::op_name(op)) + " " + backplane::sdk::type_name(type));
      const TestTensor a = TestTensor::random(type, {7, 301}, random),
                       b = TestTensor::random(type, {7, 301}, random, 0.5, 2);
      KernelCase c(op);
      c.input(a).input(b).output(type, {7, 301}).expect({broadcast_apply(a, b, {7, 301}, f)}, {epsilon, 1e-7});
    }
  }
}

TEST(BinaryTest, EveryBroadcastAndStride) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Shape shape, left, right;
    const int64_t rank = random.integer(0, 4);
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t extent = random.integer(1, 12), which = random.integer(0, 3);
      left.push_back(which == 0 ? 1 : extent);
      right.push_back(which == 1 ? 1 : extent);
      shape.push_back(extent);
    }
    if (rank > 0 && random.integer(0, 2) == 0) {
      right.erase(right.begin());  // fewer axes
      shape[0] = left[0];
    }
    const TestTensor a = TestTensor::random(BP_TYPE_F32, left, random),
                     b = TestTensor::random(BP_TYPE_F32, right, random);
    KernelCase c(BP_OP_SUB);
    c.input(a.scattered(random)).input(b.scattered(random)).output(TestTensor(BP_TYPE_F32, shape).scattered(random));
    c.expect({broadcast_apply(a, b, shape, [](double x, double y) { return x - y; })}, {0x1p-23, 1e-7});
  }
}

TEST(BinaryTest, LargeBroadcastAcrossWorkers) {
  Random random(9);
  const TestTensor a = TestTensor::random(BP_TYPE_F32, {3, 40, 700}, random),
                   b = TestTensor::random(BP_TYPE_F32, {40, 1}, random);
  KernelCase c(BP_OP_MUL);
  c.input(a).input(b).output(BP_TYPE_F32, {3, 40, 700});
  c.expect({broadcast_apply(a, b, {3, 40, 700}, [](double x, double y) { return x * y; })}, {0x1p-23, 1e-7});
}

TEST(BinaryTest, NanPropagatesThroughMinAndMax) {
  const double nan = std::nan("");
  for (const uint32_t type : {BP_TYPE_F32, BP_TYPE_F64}) {
    for (const uint32_t op : {BP_OP_MIN, BP_OP_MAX}) {
      KernelCase c(op);
      c.input(TestTensor(type, {3}, {nan, 1, nan})).input(TestTensor(type, {3}, {1, nan, nan})).output(type, {3});
      c.expect({{nan, nan, nan}});
    }
  }
}

TEST(BinaryTest, IntegerDivisionIsDefinedEverywhere) {
  const auto lowest = std::numeric_limits<int32_t>::min();
  KernelCase c(BP_OP_DIV);
  c.input(TestTensor(BP_TYPE_I32, {5}, {7, -7, 5, lowest, lowest}));
  c.input(TestTensor(BP_TYPE_I32, {5}, {2, 2, 0, -1, 1})).output(BP_TYPE_I32, {5});
  c.expect({{3, -3, 0, static_cast<double>(lowest), static_cast<double>(lowest)}});

  KernelCase wide(BP_OP_DIV);
  const auto lowest64 = std::numeric_limits<int64_t>::min();
  wide.input(TestTensor::exact<int64_t>(BP_TYPE_I64, {2}, {lowest64, 9})).input(TestTensor(BP_TYPE_I64, {2}, {-1, 0}));
  wide.output(BP_TYPE_I64, {2});
  EXPECT_EQ(wide.run()[0].get_exact<int64_t>(0), lowest64);
  EXPECT_EQ(wide.run()[0].get_exact<int64_t>(1), 0);
}

TEST(BinaryTest, IntegersWrap) {
  KernelCase add(BP_OP_ADD);
  add.input(TestTensor(BP_TYPE_U8, {2}, {250, 1})).input(TestTensor(BP_TYPE_U8, {2}, {10, 1})).output(BP_TYPE_U8, {2});
  add.expect({{4, 2}});
  KernelCase mul(BP_OP_MUL);
  mul.input(TestTensor::exact<int64_t>(BP_TYPE_I64, {1}, {INT64_MAX})).input(TestTensor(BP_TYPE_I64, {1}, {2}));
  mul.output(BP_TYPE_I64, {1}).expect({{-2}});
  KernelCase sub(BP_OP_SUB);
  sub.input(TestTensor(BP_TYPE_U32, {1}, {0})).input(TestTensor(BP_TYPE_U32, {1}, {1})).output(BP_TYPE_U32, {1});
  sub.expect({{4294967295.0}});
}

TEST(BinaryTest, U64UsesItsWholeRange) {
  const uint64_t big = UINT64_MAX - 1;
  KernelCase greater(BP_OP_GT);
  greater.input(TestTensor::exact<uint64_t>(BP_TYPE_U64, {1}, {big})).input(TestTensor(BP_TYPE_U64, {1}, {1}));
  greater.output(BP_TYPE_BOOL, {1}).expect({{1}});
  KernelCase divide(BP_OP_DIV);
  divide.input(TestTensor::exact<uint64_t>(BP_TYPE_U64, {1}, {big})).input(TestTensor(BP_TYPE_U64, {1}, {2}));
  EXPECT_EQ(divide.output(BP_TYPE_U64, {1}).run()[0].get_exact<uint64_t>(0), big / 2);
}

TEST(BinaryTest, RemainderTakesTheSignThatFmodSays) {
  const TestTensor a(BP_TYPE_I32, {5}, {7, -7, 7, -7, 3}), b(BP_TYPE_I32, {5}, {3, 3, -3, -3, 0});
  KernelCase floor(BP_OP_MOD);
  floor.input(a).input(b).output(BP_TYPE_I32, {5}).expect({{1, 2, -2, -1, 0}});
  KernelCase c(BP_OP_MOD);
  c.input(a).input(b).output(BP_TYPE_I32, {5}).attr(BP_ATTR_FMOD, 1).expect({{1, -1, 1, -1, 0}});
  KernelCase real(BP_OP_MOD);
  real.input(TestTensor(BP_TYPE_F32, {2}, {7.5, -7.5})).input(TestTensor(BP_TYPE_F32, {2}, {2, 2}));
  real.output(BP_TYPE_F32, {2}).attr(BP_ATTR_FMOD, 1).expect({{1.5, -1.5}});
  KernelCase refused(BP_OP_MOD);
  refused.input(TestTensor(BP_TYPE_F32, {1})).input(TestTensor(BP_TYPE_F32, {1})).output(BP_TYPE_F32, {1});
  EXPECT_NE(refused.refusal(), "");
}

TEST(BinaryTest, Comparisons) {
  const std::vector<std::pair<uint32_t, Values>> ops = {{BP_OP_EQ, {0, 1, 0}}, {BP_OP_NE, {1, 0, 1}},
                                                        {BP_OP_LT, {1, 0, 0}}, {BP_OP_LE, {1, 1, 0}},
                                                        {BP_OP_GT, {0, 0, 1}}, {BP_OP_GE, {0, 1, 1}}};
  for (const uint32_t type :
       {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_F16, BP_TYPE_I64, BP_TYPE_I32, BP_TYPE_I8, BP_TYPE_U64, BP_TYPE_U16}) {
    for (const auto& [op, expected] : ops) {
      KernelCase c(op);
      c.input(TestTensor(type, {3}, {1, 2, 3})).input(TestTensor(type, {1}, {2})).output(BP_TYPE_BOOL, {3});
      c.expect({expected});
    }
  }
}

TEST(BinaryTest, Logic) {
  const TestTensor a(BP_TYPE_BOOL, {4}, {0, 0, 1, 1}), b(BP_TYPE_BOOL, {4}, {0, 1, 0, 1});
  const std::vector<std::pair<uint32_t, Values>> ops = {{BP_OP_AND, {0, 0, 0, 1}},
                                                        {BP_OP_OR, {0, 1, 1, 1}},
                                                        {BP_OP_XOR, {0, 1, 1, 0}},
                                                        {BP_OP_EQ, {1, 0, 0, 1}},
                                                        {BP_OP_NE, {0, 1, 1, 0}}};
  for (const auto& [op, expected] : ops) {
    KernelCase c(op);
    c.input(a).input(b).output(BP_TYPE_BOOL, {4}).expect({expected});
  }
}

TEST(BinaryTest, Bits) {
  const TestTensor a(BP_TYPE_U16, {3}, {12, 65535, 1}), b(BP_TYPE_U16, {3}, {10, 1, 15});
  const std::vector<std::pair<uint32_t, Values>> ops = {{BP_OP_BITWISE_AND, {8, 1, 1}},
                                                        {BP_OP_BITWISE_OR, {14, 65535, 15}},
                                                        {BP_OP_BITWISE_XOR, {6, 65534, 14}},
                                                        {BP_OP_SHIFT_LEFT, {12288, 65534, 32768}},
                                                        {BP_OP_SHIFT_RIGHT, {0, 32767, 0}}};
  for (const auto& [op, expected] : ops) {
    KernelCase c(op);
    c.input(a).input(b).output(BP_TYPE_U16, {3}).expect({expected});
  }
  KernelCase signed_shift(BP_OP_SHIFT_LEFT);
  signed_shift.input(TestTensor(BP_TYPE_I32, {1})).input(TestTensor(BP_TYPE_I32, {1})).output(BP_TYPE_I32, {1});
  EXPECT_NE(signed_shift.refusal(), "");
}

TEST(BinaryTest, PowOfMixedTypes) {
  KernelCase real(BP_OP_POW);
  real.input(TestTensor(BP_TYPE_F32, {4}, {2, 3, 9, -2})).input(TestTensor(BP_TYPE_F32, {4}, {3, 2, 0.5, 3}));
  real.output(BP_TYPE_F32, {4}).expect({{8, 9, 3, -8}}, {1e-6, 0});
  KernelCase integer(BP_OP_POW);
  integer.input(TestTensor(BP_TYPE_I32, {6}, {2, -3, 1, -1, 2, 0}))
      .input(TestTensor(BP_TYPE_I64, {6}, {10, 3, -5, -3, -1, 0}));
  integer.output(BP_TYPE_I32, {6}).expect({{1024, -27, 1, -1, 0, 1}});
  KernelCase mixed(BP_OP_POW);
  mixed.input(TestTensor(BP_TYPE_I32, {2}, {16, 3})).input(TestTensor(BP_TYPE_F32, {2}, {0.5, 2}));
  mixed.output(BP_TYPE_I32, {2}).expect({{4, 9}});
  KernelCase exponent(BP_OP_POW);
  exponent.input(TestTensor(BP_TYPE_F64, {2}, {1.5, 2})).input(TestTensor(BP_TYPE_I32, {2}, {2, -1}));
  exponent.output(BP_TYPE_F64, {2}).expect({{2.25, 0.5}});
}

TEST(BinaryTest, PowKeepsTheDigitsOfAWiderExponent) {
  const double odd = 16777217;  // 2^24 + 1, no f32
  KernelCase integer(BP_OP_POW);
  integer.input(TestTensor(BP_TYPE_F32, {2}, {-1, -2})).input(TestTensor(BP_TYPE_I64, {2}, {odd, odd}));
  integer.output(BP_TYPE_F32, {2}).expect({{-1, -std::numeric_limits<double>::infinity()}});
  KernelCase real(BP_OP_POW);
  real.input(TestTensor(BP_TYPE_F32, {1}, {-1})).input(TestTensor(BP_TYPE_F64, {1}, {odd}));
  real.output(BP_TYPE_F32, {1}).expect({{-1}});
}

TEST(BinaryTest, PowOfIntegerByFloatSaturates) {
  KernelCase c(BP_OP_POW);
  c.input(TestTensor(BP_TYPE_U16, {2}, {300, 2})).input(TestTensor(BP_TYPE_F32, {2}, {2, 3}));
  c.output(BP_TYPE_U16, {2}).expect({{65535, 8}});
}

TEST(BinaryTest, Refusals) {
  KernelCase types(BP_OP_ADD);
  types.input(TestTensor(BP_TYPE_F32, {1})).input(TestTensor(BP_TYPE_F64, {1})).output(BP_TYPE_F32, {1});
  EXPECT_NE(types.refusal(), "");
  KernelCase shapes(BP_OP_ADD);
  shapes.input(TestTensor(BP_TYPE_F32, {2})).input(TestTensor(BP_TYPE_F32, {3})).output(BP_TYPE_F32, {3});
  EXPECT_NE(shapes.refusal(), "");
  KernelCase output(BP_OP_ADD);
  output.input(TestTensor(BP_TYPE_F32, {1})).input(TestTensor(BP_TYPE_F32, {1})).output(BP_TYPE_F32, {3});
  EXPECT_NE(output.refusal(), "");
  KernelCase prelu(BP_OP_PRELU);
  prelu.input(TestTensor(BP_TYPE_F32, {1})).input(TestTensor(BP_TYPE_F32, {3})).output(BP_TYPE_F32, {3});
  EXPECT_NE(prelu.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
