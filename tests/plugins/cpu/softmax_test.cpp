// softmax, log_softmax, hardmax against loops in double, over every axis, with special values.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

Values apply(uint32_t op, const Shape& shape, size_t axis, const Values& x) {
  int64_t inner = 1, outer = 1;
  for (size_t a = 0; a < axis; ++a) outer *= shape[a];
  for (size_t a = axis + 1; a < shape.size(); ++a) inner *= shape[a];
  const int64_t count = shape[axis];
  Values y(x.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const auto at = [&](int64_t k) { return (o * count + k) * inner + i; };
      double max = -INFINITY, sum = 0;
      int64_t best = 0;
      for (int64_t k = 0; k < count; ++k)
        if (!std::isnan(max) && (k == 0 || x[at(k)] > max || std::isnan(x[at(k)]))) max = x[at(k)], best = k;
      for (int64_t k = 0; k < count; ++k) sum += std::exp(x[at(k)] - max);
      for (int64_t k = 0; k < count; ++k)
        y[at(k)] = op == BP_OP_SOFTMAX   ? std::exp(x[at(k)] - max) / sum
                   : op == BP_OP_HARDMAX ? (k == best ? 1 : 0)
                                         : x[at(k)] - max - std::log(sum);
    }
  }
  return y;
}

void check(uint32_t op, const TestTensor& x, const TestTensor& y, size_t axis) {
  const Tolerance tolerance = x.dtype == BP_TYPE_F64 ? Tolerance{1e-13, 1e-14} : Tolerance{2e-6, 2e-6};
  KernelCase(op)
      .input(x)
      .output(y)
      .attr(BP_ATTR_AXIS, static_cast<int>(axis))
      .expect({apply(op, x.shape, axis, x.values())}, tolerance);
}

TEST(SoftmaxTest, MatchesLoopsOnEveryAxis) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Shape shape;
    for (int64_t r = random.integer(1, 4); r > 0; --r) shape.push_back(random.integer(1, shape.empty() ? 40 : 21));
    while (shape.size() > 2 && shape[0] * shape[1] > 100) shape.erase(shape.begin());
    const uint32_t dtype = seed % 3 == 0 ? BP_TYPE_F64 : BP_TYPE_F32;
    const TestTensor x = TestTensor::random(dtype, shape, random, -20, 20);
    for (const uint32_t op : {BP_OP_SOFTMAX, BP_OP_LOG_SOFTMAX, BP_OP_HARDMAX}) {
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        check(op, x, TestTensor(dtype, shape), axis);
        check(op, x.scattered(random), TestTensor(dtype, shape).scattered(random), axis);
      }
    }
  }
}

TEST(SoftmaxTest, LargeMagnitudesStayFinite) {
  for (const int axis : {0, 1}) {
    const TestTensor x(BP_TYPE_F32, {2, 9}, {3e38, 3e38, -3e38, 0, 1, 2, 3, 4, 5, 3e38, 3e38, 1, 1, 1, 1, 1, 1, 1});
    for (const uint32_t op : {BP_OP_SOFTMAX, BP_OP_HARDMAX}) check(op, x, TestTensor(BP_TYPE_F32, {2, 9}), axis);
  }
}

// A masked position has weight 0; a row that is masked whole, or holds NaN, is NaN; along rows and along columns.
TEST(SoftmaxTest, InfinityAndNaN) {
  const double inf = INFINITY, nan = NAN;
  const TestTensor x(BP_TYPE_F32, {3, 10},
                     {-inf, 0,    0,    -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf, -inf,
                      -inf, -inf, -inf, -inf, -inf, 1,    2,    nan,  4,    5,    6,    7,    8,    9,    10});
  for (const uint32_t op : {BP_OP_SOFTMAX, BP_OP_LOG_SOFTMAX}) {
    Values expected(30, nan);
    for (int i = 0; i < 10; ++i)
      expected[i] = op == BP_OP_SOFTMAX ? (i == 1 || i == 2 ? 0.5 : 0) : (i == 1 || i == 2 ? -std::log(2.0) : -inf);
    KernelCase(op).input(x).output(BP_TYPE_F32, {3, 10}).attr(BP_ATTR_AXIS, 1).expect({expected}, {1e-6, 1e-6});
    Values columns(30);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 10; ++j) columns[j * 3 + i] = expected[i * 10 + j];
    TestTensor xt(BP_TYPE_F32, {10, 3});
    for (int i = 0; i < 30; ++i) xt.set(i, x.get(i % 3 * 10 + i / 3));
    KernelCase(op).input(xt).output(BP_TYPE_F32, {10, 3}).attr(BP_ATTR_AXIS, 0).expect({columns}, {1e-6, 1e-6});
    // Wide enough for the path that puts columns into lanes.
    TestTensor wide(BP_TYPE_F32, {10, 48});
    Values wide_expected(480);
    for (int i = 0; i < 480; ++i) {
      wide.set(i, x.get(i % 48 / 16 * 10 + i / 48));
      wide_expected[i] = expected[i % 48 / 16 * 10 + i / 48];
    }
    KernelCase(op)
        .input(wide)
        .output(BP_TYPE_F32, {10, 48})
        .attr(BP_ATTR_AXIS, 0)
        .expect({wide_expected}, {1e-6, 1e-6});
  }
}

TEST(SoftmaxTest, HardmaxTakesTheFirstMaximum) {
  const TestTensor x(BP_TYPE_F32, {2, 4}, {1, 3, 3, 2, NAN, 1, NAN, 2});
  KernelCase(BP_OP_HARDMAX)
      .input(x)
      .output(BP_TYPE_F32, {2, 4})
      .attr(BP_ATTR_AXIS, 1)
      .expect({{0, 1, 0, 0, 1, 0, 0, 0}});
}

TEST(SoftmaxTest, EmptyAxes) {
  for (const uint32_t op : {BP_OP_SOFTMAX, BP_OP_LOG_SOFTMAX, BP_OP_HARDMAX})
    for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}})
      KernelCase(op)
          .input(TestTensor(BP_TYPE_F32, shape))
          .output(BP_TYPE_F32, shape)
          .attr(BP_ATTR_AXIS, 0)
          .expect({{}});
}

TEST(SoftmaxTest, RefusesAxisOutside) {
  const TestTensor x(BP_TYPE_F32, {2, 4});
  EXPECT_NE(KernelCase(BP_OP_SOFTMAX)
                .input(x)
                .output(BP_TYPE_F32, {2, 4})
                .attr(BP_ATTR_AXIS, 2)
                .refusal()
                .find("axis is 2, wanted 0 to 1"),
            std::string::npos);
}

}  // namespace
}  // namespace backplane_cpu::testing
