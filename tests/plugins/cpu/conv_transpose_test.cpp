// conv_transpose against the scatter definition in double.
#include <gtest/gtest.h>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

struct TransposeShape {
  int64_t images, in, out, group;  // channels in all
  Shape size, kernel, strides, dilations, pads, output_padding;
  size_t rank() const { return size.size(); }
  Shape out_size() const {
    Shape shape;
    for (size_t a = 0; a < rank(); ++a)
      shape.push_back(strides[a] * (size[a] - 1) + output_padding[a] + dilations[a] * (kernel[a] - 1) + 1 - pads[a] -
                      pads[rank() + a]);
    return shape;
  }
};

Shape joined(Shape head, const Shape& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

int64_t product(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

// Every input adds to the outputs that its taps reach.
Values scatter(const TransposeShape& s, const Values& x, const Values& w, const Values& b) {
  const Shape out = s.out_size();
  const int64_t outs = product(out), ins = product(s.size), taps = product(s.kernel);
  const int64_t in = s.in / s.group, per_group = s.out / s.group;
  Values y(static_cast<size_t>(s.images * s.out * outs));
  for (size_t i = 0; i < y.size(); ++i) y[i] = b.empty() ? 0 : b[i / outs % s.out];
  if (ins == 0) return y;
  Shape at(s.rank(), 0);
  int64_t i = 0;
  do {
    Shape tap(s.rank(), 0);
    int64_t t = 0;
    do {
      int64_t flat = 0;
      bool inside = true;
      for (size_t a = 0; a < s.rank(); ++a) {
        const int64_t o = at[a] * s.strides[a] - s.pads[a] + tap[a] * s.dilations[a];
        inside = inside && o >= 0 && o < out[a];
        flat = flat * out[a] + o;
      }
      for (int64_t n = 0; inside && n < s.images; ++n)
        for (int64_t c = 0; c < s.in; ++c)
          for (int64_t m = 0; m < per_group; ++m)
            y[(n * s.out + c / in * per_group + m) * outs + flat] +=
                x[(n * s.in + c) * ins + i] * w[(c * per_group + m) * taps + t];
      ++t;
    } while (next_index(tap, s.kernel));
    ++i;
  } while (next_index(at, s.size));
  return y;
}

KernelCase transpose_case(const TransposeShape& s, const TestTensor& x, const TestTensor& w) {
  KernelCase c(BP_OP_CONV_TRANSPOSE);
  c.input(x).input(w).attr(BP_ATTR_STRIDES, NodeGraph::Attr(s.strides));
  c.attr(BP_ATTR_DILATIONS, NodeGraph::Attr(s.dilations)).attr(BP_ATTR_PADS, NodeGraph::Attr(s.pads));
  c.attr(BP_ATTR_OUTPUT_PADDING, NodeGraph::Attr(s.output_padding)).attr(BP_ATTR_GROUP, static_cast<int>(s.group));
  return c;
}

void check(const TransposeShape& s, uint32_t dtype, Random& random, bool views) {
  TestTensor x = TestTensor::random(dtype, joined({s.images, s.in}, s.size), random);
  TestTensor w = TestTensor::random(dtype, joined({s.in, s.out / s.group}, s.kernel), random);
  TestTensor b = TestTensor::random(dtype, {s.out}, random);
  TestTensor y(dtype, joined({s.images, s.out}, s.out_size()));
  if (views) x = x.scattered(random), w = w.scattered(random), b = b.scattered(random), y = y.scattered(random);
  const Tolerance tolerance = dtype == BP_TYPE_F64 ? Tolerance{1e-12, 1e-12} : Tolerance{2e-5, 2e-4};
  transpose_case(s, x, w).input(b).output(y).expect({scatter(s, x.values(), w.values(), b.values())}, tolerance);
  transpose_case(s, x, w).output(y).expect({scatter(s, x.values(), w.values(), {})}, tolerance);
}

TransposeShape random_shape(Random& random, size_t rank) {
  TransposeShape s;
  s.images = random.integer(1, 2);
  s.group = random.integer(1, 3);
  s.in = s.group * random.integer(1, 4);
  s.out = s.group * random.integer(1, 5);
  for (size_t a = 0; a < rank; ++a) {
    s.kernel.push_back(random.integer(1, rank == 3 ? 3 : 5));
    s.dilations.push_back(random.integer(1, 3));
    s.strides.push_back(random.integer(1, 4));
    s.size.push_back(random.integer(1, rank == 1 ? 40 : rank == 2 ? 9 : 4));
    s.output_padding.push_back(random.integer(0, std::max(s.strides[a], s.dilations[a]) - 1));
  }
  for (size_t a = 0; a < rank; ++a) s.pads.push_back(random.integer(0, s.dilations[a] * (s.kernel[a] - 1) / 2));
  for (size_t a = 0; a < rank; ++a) s.pads.push_back(random.integer(0, s.dilations[a] * (s.kernel[a] - 1) / 2));
  return s;
}

TEST(ConvTransposeTest, MatchesScatterForRandomShapes) {
  for (uint32_t seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const TransposeShape s = random_shape(random, 1 + seed % 3);
    check(s, seed % 5 == 0 ? BP_TYPE_F64 : BP_TYPE_F32, random, seed % 4 == 1);
  }
}

TEST(ConvTransposeTest, UpsamplesByTwo) {
  Random random(1);
  check({1, 24, 12, 1, {10, 33}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}}, BP_TYPE_F32, random, false);
  check({1, 24, 12, 1, {10, 33}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, {0, 0}}, BP_TYPE_F32, random, false);
}

TEST(ConvTransposeTest, HugeStridesLeaveGapsOfBias) {
  Random random(2);
  check({1, 2, 3, 1, {3}, {2}, {301}, {1}, {0, 0}, {5}}, BP_TYPE_F32, random, false);
  check({1, 2, 3, 1, {3}, {2}, {70}, {1}, {0, 0}, {5}}, BP_TYPE_F32, random, false);
}

TEST(ConvTransposeTest, EmptyImagesAndChannels) {
  Random random(3);
  check({0, 2, 3, 1, {3, 3}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}}, BP_TYPE_F32, random, false);
  check({2, 0, 3, 1, {3, 3}, {2, 2}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {0, 0}}, BP_TYPE_F32, random, false);
}

TEST(ConvTransposeTest, RefusesWrongOutput) {
  const TestTensor x(BP_TYPE_F32, {1, 4, 5, 5}), w(BP_TYPE_F32, {4, 2, 3, 3});
  EXPECT_NE(KernelCase(BP_OP_CONV_TRANSPOSE)
                .input(x)
                .input(w)
                .output(BP_TYPE_F32, {1, 2, 5, 5})
                .refusal()
                .find("y has shape [1, 2, 5, 5], wanted [1, 2, 7, 7]"),
            std::string::npos);
}

}  // namespace
}  // namespace backplane_cpu::testing
