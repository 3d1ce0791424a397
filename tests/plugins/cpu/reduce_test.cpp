#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct ReduceOp {
  uint32_t op;
  std::function<double(const Values&)> exact;
};

double sum(
    const Values& v, const std::function<double(double)>& f = [](double x) { return x; }) {
  double total = 0;
  for (const double x : v) total += f(x);
  return total;
}

const std::vector<ReduceOp>& ops() {
  static const std::vector<ReduceOp> list = {
      {BP_OP_REDUCE_SUM, [](const Values& v) { return sum(v); }},
      {BP_OP_REDUCE_MEAN, [](const Values& v) { return sum(v) / static_cast<double>(v.size()); }},
      {BP_OP_REDUCE_MAX, [](const Values& v) { return *std::max_element(v.begin(), v.end()); }},
      {BP_OP_REDUCE_MIN, [](const Values& v) { return *std::min_element(v.begin(), v.end()); }},
      {BP_OP_REDUCE_PROD,
       [](const Values& v) {
         double product = 1;
         for (const double x : v) product *= x;
         return product;
       }},
      {BP_OP_REDUCE_L1, [](const Values& v) { return sum(v, [](double x) { return std::fabs(x); }); }},
      {BP_OP_REDUCE_L2, [](const Values& v) { return std::sqrt(sum(v, [](double x) { return x * x; })); }},
      {BP_OP_REDUCE_SUM_SQUARE, [](const Values& v) { return sum(v, [](double x) { return x * x; }); }},
      {BP_OP_REDUCE_LOG_SUM, [](const Values& v) { return std::log(sum(v)); }},
      {BP_OP_REDUCE_LOG_SUM_EXP,
       [](const Values& v) { return std::log(sum(v, [](double x) { return std::exp(x); })); }},
  };
  return list;
}

// The elements of x that fall together when `axes` are reduced, in the output's order.
std::vector<Values> groups(const TestTensor& x, const std::vector<int64_t>& axes, Shape& kept) {
  kept = x.shape;
  for (const int64_t axis : axes) kept[axis] = 1;
  std::vector<Values> result(static_cast<size_t>(TestTensor(BP_TYPE_U8, kept).elements()));
  Shape index(x.shape.size(), 0);
  for (int64_t i = 0; i < x.elements(); ++i, next_index(index, x.shape)) {
    int64_t at = 0;
    for (size_t axis = 0; axis < kept.size(); ++axis) at = at * kept[axis] + (kept[axis] == 1 ? 0 : index[axis]);
    result[static_cast<size_t>(at)].push_back(x.get(i));
  }
  return result;
}

void check(const ReduceOp& op, const TestTensor& x, const std::vector<int64_t>& axes, Random& random,
           Tolerance tolerance) {
  Shape kept;
  Values expected;
  for (const Values& group : groups(x, axes, kept)) expected.push_back(op.exact(group));
  KernelCase c(op.op);
  c.input(x.scattered(random)).output(TestTensor(x.dtype, kept).scattered(random)).attr(BP_ATTR_AXES, axes);
  c.expect({expected}, tolerance);
  KernelCase dense(op.op);
  Shape squeezed;
  for (size_t axis = 0; axis < kept.size(); ++axis)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) == axes.end()) squeezed.push_back(kept[axis]);
  dense.input(x).output(x.dtype, squeezed).attr(BP_ATTR_AXES, axes).attr(BP_ATTR_KEEPDIMS, 0);
  dense.expect({expected}, tolerance);
}

TEST(ReduceTest, EveryOpOverEveryChoiceOfAxes) {
  for (uint32_t mask = 0; mask < 16; ++mask) {
    Random random(mask);
    SCOPED_TRACE("axes mask " + std::to_string(mask));
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis < 4; ++axis)
      if ((mask >> axis & 1) != 0) axes.push_back(axis);
    const Shape shape = {random.integer(1, 4), random.integer(1, 4), random.integer(1, 20), random.integer(1, 20)};
    const TestTensor x = TestTensor::random(BP_TYPE_F32, shape, random, 0.5, 1.5);
    for (const ReduceOp& op : ops()) {
      SCOPED_TRACE(backplane::sdk::op_name(op.op));
      check(op, x, axes, random, {1e-6, 1e-6});
    }
  }
}

TEST(ReduceTest, LongRowsAndColumns) {
  Random random(3);
  const TestTensor x = TestTensor::random(BP_TYPE_F32, {613, 1201}, random, -1, 1);
  check(ops()[0], x, {1}, random, {1e-6, 1e-5});
  check(ops()[0], x, {0}, random, {1e-6, 1e-5});
  check(ops()[2], x, {0}, random, {});
  check(ops()[0], x, {0, 1}, random, {1e-6, 1e-4});
}

TEST(ReduceTest, OtherTypes) {
  Random random(4);
  for (const uint32_t type : {BP_TYPE_F64, BP_TYPE_F16, BP_TYPE_I64, BP_TYPE_I32, BP_TYPE_U8, BP_TYPE_U64}) {
    SCOPED_TRACE(backplane::sdk::type_name(type));
    const TestTensor x = TestTensor::random(type, {3, 7, 4}, random, 0, 6);
    const double epsilon = type == BP_TYPE_F64 ? 1e-14 : type == BP_TYPE_F16 ? 1e-3 : 0;
    for (const size_t op : {0u, 2u, 3u, 5u}) check(ops()[op], x, {1}, random, {epsilon, 0});
  }
  KernelCase mean(BP_OP_REDUCE_MEAN);
  mean.input(TestTensor(BP_TYPE_I32, {3}, {-1, -3, -4}))
      .output(BP_TYPE_I32, {1})
      .attr(BP_ATTR_AXES, std::vector<int64_t>{0});
  mean.expect({{-2}});
  KernelCase any(BP_OP_REDUCE_MAX);
  any.input(TestTensor(BP_TYPE_BOOL, {2, 2}, {0, 0, 0, 1})).output(BP_TYPE_BOOL, {2, 1});
  any.attr(BP_ATTR_AXES, std::vector<int64_t>{1}).expect({{0, 1}});
  KernelCase all(BP_OP_REDUCE_MIN);
  all.input(TestTensor(BP_TYPE_BOOL, {2, 2}, {0, 1, 1, 1})).output(BP_TYPE_BOOL, {2, 1});
  all.attr(BP_ATTR_AXES, std::vector<int64_t>{1}).expect({{0, 1}});
}

TEST(ReduceTest, OverNothingGivesTheIdentity) {
  const auto run = [](uint32_t op, uint32_t type, double expected) {
    KernelCase c(op);
    c.input(TestTensor(type, {2, 0})).output(type, {2, 1}).attr(BP_ATTR_AXES, std::vector<int64_t>{1});
    c.expect({{expected, expected}});
  };
  run(BP_OP_REDUCE_SUM, BP_TYPE_F32, 0);
  run(BP_OP_REDUCE_PROD, BP_TYPE_I32, 1);
  run(BP_OP_REDUCE_MAX, BP_TYPE_F32, -kInf);
  run(BP_OP_REDUCE_MIN, BP_TYPE_F16, kInf);
  run(BP_OP_REDUCE_MAX, BP_TYPE_I8, -128);
  run(BP_OP_REDUCE_MIN, BP_TYPE_U16, 65535);
  run(BP_OP_REDUCE_MIN, BP_TYPE_BOOL, 1);
  run(BP_OP_REDUCE_MEAN, BP_TYPE_F32, std::nan(""));
  run(BP_OP_REDUCE_MEAN, BP_TYPE_I32, 0);
  run(BP_OP_REDUCE_LOG_SUM, BP_TYPE_F32, -kInf);
  run(BP_OP_REDUCE_LOG_SUM, BP_TYPE_I16, -32768);  // -inf, cast
  run(BP_OP_REDUCE_LOG_SUM_EXP, BP_TYPE_F32, -kInf);
}

TEST(ReduceTest, NormOfIntegersSaturates) {
  KernelCase c(BP_OP_REDUCE_L2);
  c.input(TestTensor(BP_TYPE_I8, {2}, {120, 120})).output(BP_TYPE_I8, {1}).attr(BP_ATTR_AXES, std::vector<int64_t>{0});
  c.expect({{127}});
}

TEST(ReduceTest, NanAndOverflow) {
  const TestTensor x(BP_TYPE_F32, {3}, {1, std::nan(""), 5});
  for (const uint32_t op : {BP_OP_REDUCE_MAX, BP_OP_REDUCE_MIN, BP_OP_REDUCE_SUM, BP_OP_REDUCE_LOG_SUM_EXP}) {
    KernelCase c(op);
    c.input(x).output(BP_TYPE_F32, {}).attr(BP_ATTR_AXES, std::vector<int64_t>{0}).attr(BP_ATTR_KEEPDIMS, 0);
    c.expect({{std::nan("")}});
  }
  KernelCase stable(BP_OP_REDUCE_LOG_SUM_EXP);
  stable.input(TestTensor(BP_TYPE_F32, {2}, {1000, 1000})).output(BP_TYPE_F32, {1});
  stable.attr(BP_ATTR_AXES, std::vector<int64_t>{0}).expect({{1000 + std::log(2.0)}}, {1e-6, 0});
}

TEST(ReduceTest, Refusals) {
  KernelCase twice(BP_OP_REDUCE_SUM);
  twice.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {1}).attr(BP_ATTR_AXES, std::vector<int64_t>{0, 0});
  EXPECT_NE(twice.refusal(), "");
  KernelCase sum_of_bools(BP_OP_REDUCE_SUM);
  sum_of_bools.input(TestTensor(BP_TYPE_BOOL, {2}))
      .output(BP_TYPE_BOOL, {1})
      .attr(BP_ATTR_AXES, std::vector<int64_t>{0});
  EXPECT_NE(sum_of_bools.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
