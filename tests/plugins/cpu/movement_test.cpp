#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

TEST(MovementTest, CopyKeepsEveryTypeAndLayout) {
  for (const uint32_t type : {BP_TYPE_F64, BP_TYPE_F32, BP_TYPE_F16, BP_TYPE_I32, BP_TYPE_U8, BP_TYPE_BOOL}) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Random random(seed);
      const Shape shape = {random.integer(1, 6), random.integer(1, 30), random.integer(1, 40)};
      const TestTensor x = TestTensor::random(type, shape, random, 0, 1);
      KernelCase c(BP_OP_COPY);
      c.input(x.scattered(random)).output(TestTensor(type, shape).scattered(random)).expect({x.values()});
      KernelCase transposed(BP_OP_COPY);
      const TestTensor view = x.permuted({2, 0, 1});
      transposed.input(view).output(type, view.shape).expect({view.values()});
    }
  }
}

TEST(MovementTest, CopyOfNothingAndOfOne) {
  KernelCase none(BP_OP_COPY);
  none.input(TestTensor(BP_TYPE_F32, {0, 4})).output(BP_TYPE_F32, {0, 4}).expect({{}});
  KernelCase one(BP_OP_COPY);
  one.input(TestTensor(BP_TYPE_F32, {}, {3})).output(BP_TYPE_F32, {}).expect({{3}});
}

TEST(MovementTest, CastFloatToIntegerTruncatesAndSaturates) {
  const double inf = std::numeric_limits<double>::infinity();
  const TestTensor x(BP_TYPE_F32, {8}, {1.9, -1.9, 300, -300, 1e20, -1e20, inf, std::nan("")});
  const auto cast = [&x](uint32_t type, const Values& expected) {
    KernelCase c(BP_OP_CAST);
    c.input(x).output(type, {8}).attr(BP_ATTR_TO, static_cast<int64_t>(type)).expect({expected});
  };
  cast(BP_TYPE_I8, {1, -1, 127, -128, 127, -128, 127, 0});
  cast(BP_TYPE_U8, {1, 0, 255, 0, 255, 0, 255, 0});
  cast(BP_TYPE_I32, {1, -1, 300, -300, 2147483647, -2147483648.0, 2147483647, 0});
  cast(BP_TYPE_U32, {1, 0, 300, 0, 4294967295.0, 0, 4294967295.0, 0});
  cast(BP_TYPE_BOOL, {1, 1, 1, 1, 1, 1, 1, 1});
  KernelCase c(BP_OP_CAST);
  const TestTensor y = c.input(x).output(BP_TYPE_I64, {8}).run()[0];
  EXPECT_EQ(y.get_exact<int64_t>(4), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(y.get_exact<int64_t>(5), std::numeric_limits<int64_t>::min());
}

TEST(MovementTest, CastIntegers) {
  KernelCase wrap(BP_OP_CAST);
  wrap.input(TestTensor(BP_TYPE_I32, {3}, {300, -1, 128})).output(BP_TYPE_I8, {3}).expect({{44, -1, -128}});
  KernelCase real(BP_OP_CAST);
  real.input(TestTensor(BP_TYPE_I16, {2}, {-7, 7})).output(BP_TYPE_F16, {2}).expect({{-7, 7}});
  KernelCase truth(BP_OP_CAST);
  truth.input(TestTensor(BP_TYPE_BOOL, {2}, {0, 1})).output(BP_TYPE_F32, {2}).expect({{0, 1}});
  KernelCase big(BP_OP_CAST);
  big.input(TestTensor::exact<uint64_t>(BP_TYPE_U64, {1}, {UINT64_MAX})).output(BP_TYPE_F64, {1});
  big.expect({{18446744073709551616.0}});
}

TEST(MovementTest, CastToHalfRoundsOnceToNearestEven) {
  // Slightly above the middle of two f16 numbers: rounding to f32 first would lose the surplus.
  const double middle = 1 + 0x1p-11;
  const TestTensor x(BP_TYPE_F64, {4}, {middle + 0x1p-40, middle, 65519, 65520});
  KernelCase c(BP_OP_CAST);
  c.input(x).output(BP_TYPE_F16, {4}).expect({{1 + 0x1p-10, 1, 65504, std::numeric_limits<double>::infinity()}});
  KernelCase brain(BP_OP_CAST);
  brain.input(TestTensor(BP_TYPE_F64, {2}, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8})).output(BP_TYPE_BF16, {2});
  brain.expect({{1 + 0x1p-7, 1}});
}

TEST(MovementTest, CastBetweenStrides) {
  Random random(4);
  const TestTensor x = TestTensor::random(BP_TYPE_I16, {9, 77}, random, -999, 999);
  KernelCase c(BP_OP_CAST);
  c.input(x.scattered(random)).output(TestTensor(BP_TYPE_F64, {9, 77}).scattered(random)).expect({x.values()});
}

TEST(MovementTest, Concat) {
  for (uint32_t axis = 0; axis < 3; ++axis) {
    Random random(axis);
    std::vector<TestTensor> parts;
    Shape shape = {4, 5, 6};
    int64_t total = 0;
    for (const int64_t extent : {3, 0, 1, 7}) {
      shape[axis] = extent;
      total += extent;
      parts.push_back(TestTensor::random(BP_TYPE_F32, shape, random));
    }
    shape[axis] = total;
    Values expected;
    Shape index(3, 0);
    do {
      int64_t place = index[axis];
      size_t part = 0;
      while (place >= parts[part].shape[axis]) place -= parts[part++].shape[axis];
      Shape at = index;
      at[axis] = place;
      const Shape& extents = parts[part].shape;
      expected.push_back(parts[part].get((at[0] * extents[1] + at[1]) * extents[2] + at[2]));
    } while (next_index(index, shape));
    KernelCase c(BP_OP_CONCAT);
    for (const TestTensor& part : parts) c.input(part.scattered(random));
    c.output(TestTensor(BP_TYPE_F32, shape).scattered(random)).attr(BP_ATTR_AXIS, static_cast<int64_t>(axis));
    c.expect({expected});
  }
}

TEST(MovementTest, Tile) {
  const TestTensor x(BP_TYPE_I32, {2, 2}, {1, 2, 3, 4});
  KernelCase c(BP_OP_TILE);
  c.input(x).output(BP_TYPE_I32, {4, 6}).attr(BP_ATTR_REPEATS, std::vector<int64_t>{2, 3});
  const Values top = {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4};
  Values expected = top;
  expected.insert(expected.end(), top.begin(), top.end());
  c.expect({expected});
  KernelCase none(BP_OP_TILE);
  none.input(x).output(BP_TYPE_I32, {0, 2}).attr(BP_ATTR_REPEATS, std::vector<int64_t>{0, 1}).expect({{}});
}

TEST(MovementTest, Reverse) {
  const TestTensor x(BP_TYPE_F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&x](std::vector<int64_t> axes, const Values& expected) {
    KernelCase c(BP_OP_REVERSE);
    c.input(x).output(BP_TYPE_F32, {2, 3}).attr(BP_ATTR_AXES, std::move(axes)).expect({expected});
  };
  run({0}, {4, 5, 6, 1, 2, 3});
  run({1}, {3, 2, 1, 6, 5, 4});
  run({0, 1}, {6, 5, 4, 3, 2, 1});
  run({}, x.values());
}

TEST(MovementTest, Refusals) {
  KernelCase type(BP_OP_COPY);
  EXPECT_NE(type.input(TestTensor(BP_TYPE_F32, {1})).output(BP_TYPE_F64, {1}).refusal(), "");
  KernelCase to(BP_OP_CAST);
  to.input(TestTensor(BP_TYPE_F32, {1})).output(BP_TYPE_F64, {1}).attr(BP_ATTR_TO, int{BP_TYPE_F16});
  EXPECT_NE(to.refusal(), "");
  KernelCase concat(BP_OP_CONCAT);
  concat.input(TestTensor(BP_TYPE_F32, {2})).input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {5});
  EXPECT_NE(concat.attr(BP_ATTR_AXIS, 0).refusal(), "");
  KernelCase reverse(BP_OP_REVERSE);
  reverse.input(TestTensor(BP_TYPE_F32, {2})).output(BP_TYPE_F32, {2}).attr(BP_ATTR_AXES, std::vector<int64_t>{1});
  EXPECT_NE(reverse.refusal(), "");
}

}  // namespace
}  // namespace backplane_cpu::testing
