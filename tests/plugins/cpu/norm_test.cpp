// batch_norm, layer_norm, rms_norm, instance_norm, group_norm against loops in double.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

constexpr double kEpsilon = 1e-3;

int64_t product(const Shape& shape, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t a = first; a < last; ++a) count *= shape[a];
  return count;
}

// Rows of `count` elements brought to mean 0 (if `centre`) and variance 1.
Values normalised(const Values& x, int64_t count, bool centre) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += count) {
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < count; ++i) mean += x[row + i] / count;
    if (!centre) mean = 0;
    for (int64_t i = 0; i < count; ++i) variance += (x[row + i] - mean) * (x[row + i] - mean) / count;
    for (int64_t i = 0; i < count; ++i) y[row + i] = (x[row + i] - mean) / std::sqrt(variance + kEpsilon);
  }
  return y;
}

Tolerance tolerance_of(uint32_t dtype) {
  return dtype == BP_TYPE_F64 ? Tolerance{1e-11, 1e-11} : Tolerance{1e-5, 1e-5};
}

Shape random_shape(Random& random, int64_t rank) {
  Shape shape;
  for (int64_t r = 0; r < rank; ++r) shape.push_back(random.integer(1, 12));
  return shape;
}

TEST(NormTest, LayerAndRmsMatchLoops) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const uint32_t dtype = seed % 3 == 0 ? BP_TYPE_F64 : BP_TYPE_F32;
    const Shape shape = random_shape(random, random.integer(1, 4));
    const size_t axis = random.integer(0, static_cast<int64_t>(shape.size()) - 1);
    Shape scale_shape(shape.begin() + axis, shape.end());
    if (seed % 4 == 2) scale_shape[0] = 1;
    if (seed % 4 == 3) scale_shape.back() = 1;
    TestTensor x = TestTensor::random(dtype, shape, random), y(dtype, shape);
    TestTensor scale = TestTensor::random(dtype, scale_shape, random),
               bias = TestTensor::random(dtype, scale_shape, random);
    if (seed % 5 == 1) x = x.scattered(random), y = y.scattered(random), scale = scale.scattered(random);
    const Values s = scale.broadcast(shape).values(), b = bias.broadcast(shape).values();
    Values layer = normalised(x.values(), product(shape, axis, shape.size()), true);
    Values rms = normalised(x.values(), product(shape, axis, shape.size()), false);
    Values plain = layer;
    for (size_t i = 0; i < s.size(); ++i) plain[i] *= s[i], layer[i] = layer[i] * s[i] + b[i], rms[i] *= s[i];
    const auto norm = [&](uint32_t op) {
      KernelCase c(op);
      c.input(x).input(scale).output(y).attr(BP_ATTR_AXIS, static_cast<int>(axis)).attr(BP_ATTR_EPSILON, kEpsilon);
      return c;
    };
    norm(BP_OP_LAYER_NORM).input(bias).expect({layer}, tolerance_of(dtype));
    norm(BP_OP_LAYER_NORM).expect({plain}, tolerance_of(dtype));
    norm(BP_OP_RMS_NORM).expect({rms}, tolerance_of(dtype));
  }
}

TEST(NormTest, InstanceGroupAndBatchMatchLoops) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const uint32_t dtype = seed % 3 == 0 ? BP_TYPE_F64 : BP_TYPE_F32;
    Shape shape = random_shape(random, random.integer(2, 4));
    const int64_t groups = random.integer(1, 4);
    shape[1] = groups * random.integer(1, 3);
    const int64_t channels = shape[1], plane = product(shape, 2, shape.size());
    TestTensor x = TestTensor::random(dtype, shape, random), y(dtype, shape);
    if (seed % 4 == 1) x = x.scattered(random), y = y.scattered(random);
    const TestTensor scale = TestTensor::random(dtype, {channels}, random),
                     bias = TestTensor::random(dtype, {channels}, random);
    const TestTensor mean = TestTensor::random(dtype, {channels}, random);
    const TestTensor variance = TestTensor::random(dtype, {channels}, random, 0, 2).scattered(random);
    const auto affine = [&](Values v) {
      for (size_t i = 0; i < v.size(); ++i) {
        const int64_t c = static_cast<int64_t>(i) / plane % channels;
        v[i] = v[i] * scale.get(c) + bias.get(c);
      }
      return v;
    };
    Values batch = x.values();
    for (size_t i = 0; i < batch.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) / plane % channels;
      batch[i] = (batch[i] - mean.get(c)) / std::sqrt(variance.get(c) + kEpsilon);
    }
    const auto norm = [&](uint32_t op) {
      KernelCase c(op);
      c.input(x).input(scale).input(bias).output(y).attr(BP_ATTR_EPSILON, kEpsilon);
      return c;
    };
    norm(BP_OP_INSTANCE_NORM).expect({affine(normalised(x.values(), plane, true))}, tolerance_of(dtype));
    norm(BP_OP_GROUP_NORM)
        .attr(BP_ATTR_NUM_GROUPS, static_cast<int>(groups))
        .expect({affine(normalised(x.values(), channels / groups * plane, true))}, tolerance_of(dtype));
    norm(BP_OP_BATCH_NORM).input(mean).input(variance).expect({affine(batch)}, tolerance_of(dtype));
  }
}

// Sums of 32-bit floats would lose the variance of long rows far from zero.
TEST(NormTest, LongRowsFarFromZero) {
  Random random(9);
  const TestTensor x = TestTensor::random(BP_TYPE_F32, {2, 40000}, random, 100, 101), one(BP_TYPE_F32, {1}, {1});
  KernelCase(BP_OP_LAYER_NORM)
      .input(x)
      .input(one)
      .output(BP_TYPE_F32, {2, 40000})
      .attr(BP_ATTR_AXIS, 1)
      .attr(BP_ATTR_EPSILON, kEpsilon)
      .expect({normalised(x.values(), 40000, true)}, {1e-4, 1e-4});
}

// What rounding leaves of the mean would be divided by sqrt(epsilon) here.
TEST(NormTest, EqualElementsFarFromZeroAreZero) {
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64})
    for (const int64_t count : {1, 7, 53, 1000}) {
      const TestTensor x(dtype, {2, count}, Values(static_cast<size_t>(2 * count), 1000.1)), one(dtype, {1}, {1});
      KernelCase(BP_OP_LAYER_NORM)
          .input(x)
          .input(one)
          .output(dtype, {2, count})
          .attr(BP_ATTR_AXIS, 1)
          .attr(BP_ATTR_EPSILON, 1e-12)
          .expect({Values(static_cast<size_t>(2 * count), 0)}, {0, 1e-3});
    }
}

TEST(NormTest, EmptyAndNaN) {
  const TestTensor one(BP_TYPE_F32, {1}, {1});
  for (const Shape& shape : {Shape{0, 4}, Shape{4, 0}})
    KernelCase(BP_OP_LAYER_NORM)
        .input(TestTensor(BP_TYPE_F32, shape))
        .input(one)
        .output(BP_TYPE_F32, shape)
        .attr(BP_ATTR_AXIS, 1)
        .expect({{}});
  KernelCase(BP_OP_RMS_NORM)
      .input(TestTensor(BP_TYPE_F32, {2, 2}, {NAN, 1, 0, 0}))
      .input(one)
      .output(BP_TYPE_F32, {2, 2})
      .attr(BP_ATTR_AXIS, 1)
      .expect({{NAN, NAN, 0, 0}});
}

TEST(NormTest, RefusesPrecisely) {
  const TestTensor x(BP_TYPE_F32, {2, 6, 3}), c(BP_TYPE_F32, {6}), wrong(BP_TYPE_F32, {4});
  const auto refusal = [&](uint32_t op, const TestTensor& scale, int groups) {
    KernelCase k(op);
    k.input(x).input(scale).input(c).output(BP_TYPE_F32, {2, 6, 3});
    if (groups > 0) k.attr(BP_ATTR_NUM_GROUPS, groups);
    return k.refusal();
  };
  EXPECT_NE(refusal(BP_OP_GROUP_NORM, c, 4).find("num_groups is 4, wanted a divisor of the 6 channels"),
            std::string::npos);
  EXPECT_NE(refusal(BP_OP_GROUP_NORM, c, 0).find("num_groups, found none"), std::string::npos);
  EXPECT_NE(refusal(BP_OP_INSTANCE_NORM, wrong, 0).find("scale has shape [4], wanted [6]"), std::string::npos);
  EXPECT_NE(refusal(BP_OP_LAYER_NORM, wrong, 0).find("scale has shape [4], wanted one that broadcasts to [2, 6, 3]"),
            std::string::npos);
}

}  // namespace
}  // namespace backplane_cpu::testing
