#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return x > 700 ? x : std::log1p(std::exp(x)); }
double clamp01(double x) { return std::isnan(x) ? x : std::max(0.0, std::min(1.0, x)); }

struct UnaryOp {
  uint32_t op;
  double (*exact)(double);
  double low, high;  // where f32 has to be within `ulps`
  double ulps = 4;
  double absolute = 1e-37;  // larger where the formula subtracts: the error is relative to what is subtracted
};

const std::vector<UnaryOp>& float_ops() {
  static const std::vector<UnaryOp> ops = {
      {BP_OP_ABS, [](double x) { return std::fabs(x); }, -1e30, 1e30, 0},
      {BP_OP_NEG, [](double x) { return -x; }, -1e30, 1e30, 0},
      {BP_OP_SIGN, [](double x) { return x > 0   ? 1.0
                                         : x < 0 ? -1.0
                                                 : x; }, -2, 2, 0},
      {BP_OP_FLOOR, [](double x) { return std::floor(x); }, -100, 100, 0},
      {BP_OP_CEIL, [](double x) { return std::ceil(x); }, -100, 100, 0},
      {BP_OP_ROUND, [](double x) { return std::nearbyint(x); }, -100, 100, 0},
      {BP_OP_EXP, [](double x) { return std::exp(x); }, -87, 88.7},
      {BP_OP_LOG, [](double x) { return std::log(x); }, 1e-30, 1e3},
      {BP_OP_SQRT, [](double x) { return std::sqrt(x); }, 0, 1e30, 1},
      {BP_OP_RECIPROCAL, [](double x) { return 1 / x; }, 0.01, 1e30, 1},
      {BP_OP_ERF, [](double x) { return std::erf(x); }, -5, 5},
      {BP_OP_SIN, [](double x) { return std::sin(x); }, -1e4, 1e4},
      {BP_OP_COS, [](double x) { return std::cos(x); }, -1e4, 1e4},
      {BP_OP_TAN, [](double x) { return std::tan(x); }, -1.5, 1.5},
      {BP_OP_ASIN, [](double x) { return std::asin(x); }, -1, 1},
      {BP_OP_ACOS, [](double x) { return std::acos(x); }, -1, 1},
      {BP_OP_ATAN, [](double x) { return std::atan(x); }, -50, 50},
      {BP_OP_SINH, [](double x) { return std::sinh(x); }, -20, 20},
      {BP_OP_COSH, [](double x) { return std::cosh(x); }, -20, 20},
      {BP_OP_TANH, [](double x) { return std::tanh(x); }, -12, 12},
      {BP_OP_ASINH, [](double x) { return std::asinh(x); }, -100, 100},
      {BP_OP_ACOSH, [](double x) { return std::acosh(x); }, 1.01, 100},
      {BP_OP_ATANH, [](double x) { return std::atanh(x); }, -0.99, 0.99},
      {BP_OP_SIGMOID, sigmoid, -80, 80},
      {BP_OP_HARD_SIGMOID, [](double x) { return clamp01(0.2f * x + 0.5); }, -4, 4, 8, 0x1p-25},
      {BP_OP_RELU, [](double x) { return x < 0 ? 0 : x; }, -3, 3, 0},
      {BP_OP_LEAKY_RELU, [](double x) { return x < 0 ? 0.01 * x : x; }, -3, 3},
      {BP_OP_ELU, [](double x) { return x < 0 ? std::expm1(x) : x; }, -20, 3, 6},
      {BP_OP_SELU,
       [](double x) { return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * std::expm1(x)); },
       -20, 3, 6},
      {BP_OP_CELU, [](double x) { return x < 0 ? std::expm1(x) : x; }, -20, 3, 6},
      {BP_OP_GELU, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, -12, 12, 16},
      {BP_OP_SILU, [](double x) { return x * sigmoid(x); }, -80, 80, 6},
      {BP_OP_HARD_SWISH, [](double x) { return x * clamp01(x / 6 + 0.5); }, -2.9, 4, 16},
      {BP_OP_SOFTPLUS, softplus, -80, 80, 6},
      {BP_OP_SOFTSIGN, [](double x) { return x / (1 + std::fabs(x)); }, -50, 50},
      {BP_OP_MISH, [](double x) { return x * std::tanh(softplus(x)); }, -80, 80, 8},
      {BP_OP_THRESHOLDED_RELU, [](double x) { return x > 1 ? x : 0; }, -3, 3, 0},
      {BP_OP_SHRINK, [](double x) { return x < -0.5 || x > 0.5 ? x : 0; }, -3, 3, 0},
  };
  return ops;
}

Values apply(const UnaryOp& op, const TestTensor& x) {
  Values expected;
  for (const double v : x.values()) expected.push_back(op.exact(v));
  return expected;
}

TEST(UnaryTest, F32IsWithinAFewUlp) {
  Random random(1);
  for (const UnaryOp& op : float_ops()) {
    SCOPED_TRACE(backplane::sdk::op_name(op.op));
    const TestTensor x = TestTensor::random(BP_TYPE_F32, {4099}, random, op.low, op.high);
    KernelCase c(op.op);
    c.input(x).output(BP_TYPE_F32, {4099});
    c.expect({apply(op, x)}, {op.ulps * 0x1p-23, op.absolute});
  }
}

TEST(UnaryTest, F64IsExactToRounding) {
  Random random(2);
  for (const UnaryOp& op : float_ops()) {
    if (op.op == BP_OP_HARD_SIGMOID) continue;  // its alpha is not a f32 number
    SCOPED_TRACE(backplane::sdk::op_name(op.op));
    const TestTensor x = TestTensor::random(BP_TYPE_F64, {3, 171}, random, op.low, op.high);
    KernelCase c(op.op);
    c.input(x).output(BP_TYPE_F64, {3, 171});
    c.expect({apply(op, x)}, {1e-13, 1e-300});
  }
}

TEST(UnaryTest, HalfTypesRoundOnce) {
  Random random(3);
  for (const uint32_t type : {BP_TYPE_F16, BP_TYPE_BF16}) {
    for (const UnaryOp& op : float_ops()) {
      SCOPED_TRACE(backplane::sdk::op_name(op.op));
      const TestTensor x = TestTensor::random(type, {5, 7}, random, std::max(op.low, -8.0), std::min(op.high, 8.0));
      KernelCase c(op.op);
      c.input(x.scattered(random)).output(type, {5, 7});
      const double epsilon = type == BP_TYPE_F16 ? 0x1p-10 : 0x1p-7;
      c.expect({apply(op, x)}, {epsilon, 1e-7});
    }
  }
}

TEST(UnaryTest, AnyStridesInAndOut) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const Shape shape = {random.integer(1, 5), random.integer(1, 40), random.integer(1, 60)};
    const TestTensor x = TestTensor::random(BP_TYPE_F32, shape, random);
    KernelCase c(BP_OP_TANH);
    c.input(x.scattered(random)).output(TestTensor(BP_TYPE_F32, shape).scattered(random));
    Values expected;
    for (const double v : x.values()) expected.push_back(std::tanh(v));
    c.expect({expected}, {4 * 0x1p-23, 0});
  }
}

TEST(UnaryTest, SpecialValues) {
  const Values special = {0.0, -0.0, kInf, -kInf, kNan, 1e38, -1e38, 1e-40, 110, -110, 50, -50};
  const std::vector<std::pair<uint32_t, std::function<double(double)>>> ops = {
      {BP_OP_EXP, [](double x) { return static_cast<float>(std::exp(x)); }},
      {BP_OP_LOG, [](double x) { return std::log(x); }},
      {BP_OP_TANH, [](double x) { return std::tanh(x); }},
      {BP_OP_ERF, [](double x) { return std::erf(x); }},
      {BP_OP_SIGMOID, [](double x) { return sigmoid(x); }},
      {BP_OP_SOFTPLUS, softplus},
      {BP_OP_RELU, [](double x) { return x < 0 ? 0 : x; }},
      {BP_OP_SIGN, [](double x) { return x > 0   ? 1.0
                                         : x < 0 ? -1.0
                                                 : x; }},
      {BP_OP_ELU, [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {BP_OP_HARD_SIGMOID, [](double x) { return clamp01(0.2 * x + 0.5); }},
      {BP_OP_THRESHOLDED_RELU, [](double x) { return x > 1 ? x : 0; }},
      {BP_OP_SHRINK, [](double x) { return x < -0.5 || x > 0.5 ? x : 0; }},
      {BP_OP_SQRT, [](double x) { return std::sqrt(x); }},
      {BP_OP_RECIPROCAL, [](double x) { return static_cast<float>(1 / x); }},
  };
  for (const auto& [op, exact] : ops) {
    SCOPED_TRACE(backplane::sdk::op_name(op));
    const TestTensor x(BP_TYPE_F32, {12}, special);
    Values expected;
    for (const double v : x.values()) expected.push_back(exact(v));
    KernelCase c(op);
    c.input(x).output(BP_TYPE_F32, {12});
    c.expect({expected}, {4e-6, 1e-38});
  }
}

TEST(UnaryTest, GeluOfLargeNegativesKeepsItsDigits) {
  const TestTensor x(BP_TYPE_F32, {4}, {-3, -5, -8, -12});
  Values expected;
  for (const double v : x.values()) expected.push_back(0.5 * v * std::erfc(-v / std::sqrt(2.0)));
  KernelCase c(BP_OP_GELU);
  c.input(x).output(BP_TYPE_F32, {4}).expect({expected}, {2e-6, 0});
}

TEST(UnaryTest, GeluByTanh) {
  Random random(5);
  const TestTensor x = TestTensor::random(BP_TYPE_F32, {300}, random, -6, 6);
  Values expected;
  for (const double v : x.values())
    expected.push_back(0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
  KernelCase c(BP_OP_GELU);
  c.input(x).output(BP_TYPE_F32, {300}).attr(BP_ATTR_APPROXIMATE, "tanh").expect({expected}, {4e-6, 1e-7});
}

TEST(UnaryTest, AttributesAreUsed) {
  const TestTensor x(BP_TYPE_F32, {4}, {-4, -1, 1, 4});
  const auto run = [&x](uint32_t op, std::vector<std::pair<uint32_t, double>> attrs, const Values& expected) {
    KernelCase c(op);
    c.input(x).output(BP_TYPE_F32, {4});
    for (const auto& [key, value] : attrs) c.attr(key, value);
    c.expect({expected}, {1e-6, 1e-7});
  };
  run(BP_OP_LEAKY_RELU, {{BP_ATTR_ALPHA, 0.5}}, {-2, -0.5, 1, 4});
  run(BP_OP_HARD_SIGMOID, {{BP_ATTR_ALPHA, 0.125}, {BP_ATTR_BETA, 0.25}}, {0, 0.125, 0.375, 0.75});
  run(BP_OP_ELU, {{BP_ATTR_ALPHA, 2}}, {2 * std::expm1(-4), 2 * std::expm1(-1), 1, 4});
  run(BP_OP_SELU, {{BP_ATTR_ALPHA, 2}, {BP_ATTR_GAMMA, 3}}, {6 * std::expm1(-4), 6 * std::expm1(-1), 3, 12});
  run(BP_OP_CELU, {{BP_ATTR_ALPHA, 2}}, {2 * std::expm1(-2), 2 * std::expm1(-0.5), 1, 4});
  run(BP_OP_THRESHOLDED_RELU, {{BP_ATTR_ALPHA, 2}}, {0, 0, 0, 4});
  run(BP_OP_SHRINK, {{BP_ATTR_LAMBD, 2}, {BP_ATTR_BIAS, 1}}, {-3, 0, 0, 3});
}

TEST(UnaryTest, IntegersWrap) {
  for (const uint32_t type : {BP_TYPE_I64, BP_TYPE_I32, BP_TYPE_I16, BP_TYPE_I8}) {
    KernelCase c(BP_OP_ABS);
    c.input(TestTensor(type, {4}, {-3, 0, 5, -128})).output(type, {4});
    c.expect({{3, 0, 5, type == BP_TYPE_I8 ? -128.0 : 128.0}});
    KernelCase relu(BP_OP_RELU);
    relu.input(TestTensor(type, {3}, {-3, 0, 5})).output(type, {3}).expect({{0, 0, 5}});
    KernelCase sign(BP_OP_SIGN);
    sign.input(TestTensor(type, {3}, {-3, 0, 5})).output(type, {3}).expect({{-1, 0, 1}});
  }
  KernelCase neg(BP_OP_NEG);
  neg.input(TestTensor(BP_TYPE_U8, {2}, {1, 0})).output(BP_TYPE_U8, {2}).expect({{255, 0}});
  KernelCase flip(BP_OP_BITWISE_NOT);
  flip.input(TestTensor(BP_TYPE_U16, {2}, {1, 0})).output(BP_TYPE_U16, {2}).expect({{65534, 65535}});
}

TEST(UnaryTest, ShrinkOfIntegersTruncatesAFractionalSum) {
  KernelCase c(BP_OP_SHRINK);
  c.input(TestTensor(BP_TYPE_U8, {3}, {48, 1, 0})).output(BP_TYPE_U8, {3}).attr(BP_ATTR_BIAS, 2.5);
  c.expect({{45, 255, 0}});
}

TEST(UnaryTest, TestsOfFloats) {
  const TestTensor x(BP_TYPE_F32, {5}, {0, kNan, kInf, -kInf, 3});
  KernelCase nan(BP_OP_IS_NAN);
  nan.input(x).output(BP_TYPE_BOOL, {5}).expect({{0, 1, 0, 0, 0}});
  KernelCase inf(BP_OP_IS_INF);
  inf.input(x).output(BP_TYPE_BOOL, {5}).expect({{0, 0, 1, 1, 0}});
  KernelCase positive(BP_OP_IS_INF);
  positive.input(x).output(BP_TYPE_BOOL, {5}).attr(BP_ATTR_DETECT_NEGATIVE, 0).expect({{0, 0, 1, 0, 0}});
  KernelCase negative(BP_OP_IS_INF);
  negative.input(x).output(BP_TYPE_BOOL, {5}).attr(BP_ATTR_DETECT_POSITIVE, 0).expect({{0, 0, 0, 1, 0}});
  KernelCase invert(BP_OP_NOT);
  invert.input(TestTensor(BP_TYPE_BOOL, {2}, {0, 1})).output(BP_TYPE_BOOL, {2}).expect({{1, 0}});
}

TEST(UnaryTest, ScalarsAndEmptyTensors) {
  KernelCase scalar(BP_OP_NEG);
  scalar.input(TestTensor(BP_TYPE_F32, {}, {2})).output(BP_TYPE_F32, {}).expect({{-2}});
  KernelCase empty(BP_OP_NEG);
  empty.input(TestTensor(BP_TYPE_F32, {3, 0})).output(BP_TYPE_F32, {3, 0}).expect({{}});
}

TEST(UnaryTest, RefusesWhatItCannotDo) {
  KernelCase integer(BP_OP_EXP);
  EXPECT_NE(integer.input(TestTensor(BP_TYPE_I32, {1})).output(BP_TYPE_I32, {1}).refusal(), "");
  KernelCase shape(BP_OP_EXP);
  EXPECT_NE(shape.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {3}).refusal(), "");
  KernelCase attribute(BP_OP_EXP);
  attribute.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {2}).attr(BP_ATTR_ALPHA, 1.0);
  EXPECT_NE(attribute.refusal(), "");
  KernelCase type(BP_OP_GELU);
  type.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {2}).attr(BP_ATTR_APPROXIMATE, "sigmoid");
  EXPECT_NE(type.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
