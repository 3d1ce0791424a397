// conv against loops in double over random shapes, strides and attributes: pointwise, depthwise, grouped, general.
#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

struct ConvShape {
  int64_t images, in, out, group;  // channels in all
  Shape size, kernel, strides, dilations, pads;
  size_t rank() const { return size.size(); }
  int64_t out_size(size_t axis) const {
    return (size[axis] + pads[axis] + pads[rank() + axis] - dilations[axis] * (kernel[axis] - 1) - 1) / strides[axis] +
           1;
  }
};

Shape joined(Shape head, const Shape& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Shape y_shape(const ConvShape& s) {
  Shape shape{s.images, s.out};
  for (size_t axis = 0; axis < s.rank(); ++axis) shape.push_back(s.out_size(axis));
  return shape;
}

// The flat index of x that tap and position meet, or -1 in the padding.
int64_t met(const ConvShape& s, const Shape& position, const Shape& tap) {
  int64_t flat = 0;
  for (size_t axis = 0; axis < s.rank(); ++axis) {
    const int64_t at = position[axis] * s.strides[axis] - s.pads[axis] + tap[axis] * s.dilations[axis];
    if (at < 0 || at >= s.size[axis]) return -1;
    flat = flat * s.size[axis] + at;
  }
  return flat;
}

int64_t product(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

Values convolve(const ConvShape& s, const Values& x, const Values& w, const Values& b) {
  Values y;
  const Shape shape = y_shape(s), out(shape.begin() + 2, shape.end());
  const int64_t in_size = product(s.size), taps = product(s.kernel), in = s.in / s.group, per_group = s.out / s.group;
  for (int64_t n = 0; n < s.images; ++n) {
    for (int64_t m = 0; m < s.out; ++m) {
      Shape position(s.rank(), 0);
      if (product(out) == 0) continue;
      do {
        double sum = b.empty() ? 0 : b[m];
        Shape tap(s.rank(), 0);
        int64_t t = 0;
        do {
          const int64_t at = met(s, position, tap);
          for (int64_t c = 0; at >= 0 && c < in; ++c)
            sum += x[(n * s.in + m / per_group * in + c) * in_size + at] * w[(m * in + c) * taps + t];
          ++t;
        } while (next_index(tap, s.kernel));
        y.push_back(sum);
      } while (next_index(position, out));
    }
  }
  return y;
}

KernelCase conv_case(const ConvShape& s, const TestTensor& x, const TestTensor& w) {
  KernelCase c(BP_OP_CONV);
  c.input(x).input(w).attr(BP_ATTR_STRIDES, NodeGraph::Attr(s.strides));
  c.attr(BP_ATTR_DILATIONS, NodeGraph::Attr(s.dilations)).attr(BP_ATTR_PADS, NodeGraph::Attr(s.pads));
  c.attr(BP_ATTR_GROUP, static_cast<int>(s.group));
  return c;
}

void check_conv(const ConvShape& s, uint32_t dtype, Random& random, bool views) {
  TestTensor x = TestTensor::random(dtype, joined({s.images, s.in}, s.size), random);
  TestTensor w = TestTensor::random(dtype, joined({s.out, s.in / s.group}, s.kernel), random);
  TestTensor b = TestTensor::random(dtype, {s.out}, random);
  TestTensor y(dtype, y_shape(s));
  if (views) x = x.scattered(random), w = w.scattered(random), b = b.scattered(random), y = y.scattered(random);
  const Tolerance tolerance = dtype == BP_TYPE_F64 ? Tolerance{1e-12, 1e-12} : Tolerance{2e-5, 2e-4};
  conv_case(s, x, w).input(b).output(y).expect({convolve(s, x.values(), w.values(), b.values())}, tolerance);
  conv_case(s, x, w).output(y).expect({convolve(s, x.values(), w.values(), {})}, tolerance);
}

ConvShape random_shape(Random& random, size_t rank) {
  ConvShape s;
  s.images = random.integer(1, 2);
  s.group = random.integer(0, 2) == 0 ? random.integer(1, 4) : 1;
  s.in = s.group * random.integer(1, 5);
  s.out = s.group * random.integer(1, 9);
  for (size_t axis = 0; axis < rank; ++axis) {
    s.kernel.push_back(random.integer(1, rank == 3 ? 2 : 4));
    s.dilations.push_back(random.integer(1, 2));
    s.strides.push_back(random.integer(1, 3));
    s.pads.push_back(random.integer(0, 2));
  }
  for (size_t axis = 0; axis < rank; ++axis) {
    s.pads.push_back(random.integer(0, 2));
    s.size.push_back(s.dilations[axis] * (s.kernel[axis] - 1) + random.integer(1, rank == 1 ? 60 : rank == 2 ? 20 : 7));
  }
  return s;
}

TEST(ConvTest, MatchesLoopsForRandomShapes) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ConvShape s = random_shape(random, 1 + seed % 3);
    check_conv(s, seed % 7 == 0 ? BP_TYPE_F64 : BP_TYPE_F32, random, seed % 4 == 1);
  }
}

TEST(ConvTest, DepthwiseMatchesLoops) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    ConvShape s = random_shape(random, 1 + seed % 3);
    s.group = s.in = random.integer(2, 6);
    s.out = s.group * random.integer(1, 3);
    check_conv(s, BP_TYPE_F32, random, seed % 4 == 1);
  }
}

// Wide enough for the widest vectors, tall enough for several bands, in the sizes of mobile models.
TEST(ConvTest, DepthwiseLargePlanes) {
  Random random(5);
  check_conv({1, 2, 2, 2, {50, 161}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, BP_TYPE_F32, random, false);
  check_conv({1, 2, 2, 2, {50, 161}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}}, BP_TYPE_F32, random, false);
  check_conv({2, 3, 3, 3, {33, 40}, {3, 3}, {2, 1}, {1, 2}, {0, 1, 2, 1}}, BP_TYPE_F32, random, false);
  check_conv({1, 2, 2, 2, {9, 70}, {2, 2}, {1, 5}, {1, 3}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
}

TEST(ConvTest, PointwiseMatchesLoops) {
  Random random(6);
  check_conv({2, 30, 24, 1, {12, 20}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
  check_conv({1, 30, 24, 2, {12, 21}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
  check_conv({1, 8, 5, 1, {7, 9}, {1, 1}, {2, 2}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
  check_conv({1, 8, 5, 1, {7, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 0, 0, 2}}, BP_TYPE_F32, random, true);
}

TEST(ConvTest, DeepSumsCrossDepthBlocks) {
  Random random(7);
  check_conv({1, 64, 20, 1, {9, 10}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, BP_TYPE_F32, random, false);
  check_conv({1, 3, 16, 1, {40, 61}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}, BP_TYPE_F32, random, false);
}

TEST(ConvTest, EmptyImagesAndChannels) {
  Random random(8);
  check_conv({0, 3, 4, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
  check_conv({2, 0, 4, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
  check_conv({2, 3, 0, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
}

TEST(ConvTest, PaddingDoesNotTouchInfinity) {
  const TestTensor x(BP_TYPE_F32, {1, 1, 1, 2}, {1, INFINITY}), w(BP_TYPE_F32, {1, 1, 1, 3}, {0.5, 1, 2});
  KernelCase(BP_OP_CONV)
      .input(x)
      .input(w)
      .output(BP_TYPE_F32, {1, 1, 1, 2})
      .attr(BP_ATTR_PADS, NodeGraph::Attr(Shape{0, 1, 0, 1}))
      .expect({{INFINITY, INFINITY}});
}

TEST(ConvTest, RefusesPrecisely) {
  const TestTensor x(BP_TYPE_F32, {1, 4, 5, 5}), w(BP_TYPE_F32, {6, 2, 3, 3});
  const auto refusal = [&](const TestTensor& weights, Shape y, int group, Shape strides) {
    return KernelCase(BP_OP_CONV)
        .input(x)
        .input(weights)
        .output(BP_TYPE_F32, std::move(y))
        .attr(BP_ATTR_GROUP, group)
        .attr(BP_ATTR_STRIDES, NodeGraph::Attr(std::move(strides)))
        .refusal();
  };
  EXPECT_EQ(refusal(w, {1, 6, 3, 3}, 2, {1, 1}), "");
  EXPECT_NE(refusal(w, {1, 6, 3, 3}, 1, {1, 1}).find("w has shape [6, 2, 3, 3], wanted [6, 4, 3, 3]"),
            std::string::npos);
  EXPECT_NE(refusal(w, {1, 6, 3, 3}, 3, {1, 1}).find("divisible by group 3, found 4 and 6"), std::string::npos);
  EXPECT_NE(refusal(w, {1, 6, 5, 5}, 2, {1, 1}).find("y has shape [1, 6, 5, 5], wanted [1, 6, 3, 3]"),
            std::string::npos);
  EXPECT_NE(refusal(w, {1, 6, 3, 3}, 2, {1}).find("strides has 1 entries, wanted 2"), std::string::npos);
  EXPECT_NE(refusal(w, {1, 6, 3, 3}, 2, {0, 1}).find("strides is [0, 1]"), std::string::npos);
  EXPECT_NE(refusal(TestTensor(BP_TYPE_F16, {6, 2, 3, 3}), {1, 6, 3, 3}, 2, {1, 1}).find("w has type f16, wanted f32"),
            std::string::npos);
}

}  // namespace
}  // namespace backplane_cpu::testing
