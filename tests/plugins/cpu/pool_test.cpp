// max_pool and average_pool against loops: ceil mode, dilations, pads, indices in both orders, views, NaN.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

struct PoolShape {
  Shape size, kernel, strides, dilations, pads;
  bool ceil = false, include_pad = false;
  int64_t images = 2, channels = 3;
  size_t rank() const { return size.size(); }
  int64_t out_size(size_t a) const {
    const int64_t room = size[a] + pads[a] + pads[rank() + a] - dilations[a] * (kernel[a] - 1) - 1;
    int64_t count = (ceil ? (room + strides[a] - 1) / strides[a] : room / strides[a]) + 1;
    while (ceil && (count - 1) * strides[a] - pads[a] >= size[a]) --count;  // would start in the right padding
    return count;
  }
  Shape y_shape() const {
    Shape shape{images, channels};
    for (size_t a = 0; a < rank(); ++a) shape.push_back(out_size(a));
    return shape;
  }
};

struct Pooled {
  Values max, average, indices, column_major;
};

Pooled pool(const PoolShape& s, const Values& x) {
  Pooled out;
  const Shape y = s.y_shape(), spatial(y.begin() + 2, y.end());
  int64_t plane_size = 1;
  for (const int64_t extent : s.size) plane_size *= extent;
  for (int64_t plane = 0; plane < s.images * s.channels; ++plane) {
    Shape position(s.rank(), 0);
    do {
      double best = -INFINITY, sum = 0;
      int64_t index = -1, column = -1, divisor = 0;
      Shape tap(s.rank(), 0);
      do {
        bool inside = true, padded = true;
        int64_t flat = 0, reversed = 0, scale = 1;
        for (size_t a = 0; a < s.rank(); ++a) {
          const int64_t at = position[a] * s.strides[a] - s.pads[a] + tap[a] * s.dilations[a];
          inside = inside && at >= 0 && at < s.size[a];
          padded = padded && at < s.size[a] + s.pads[s.rank() + a];
          flat = flat * s.size[a] + at;
          reversed += at * scale;
          scale *= s.size[a];
        }
        divisor += s.include_pad ? padded : inside;
        if (!inside) continue;
        const double value = x[plane * plane_size + flat];
        sum += value;
        if (index < 0 || value > best)
          best = value, index = plane * plane_size + flat, column = plane * plane_size + reversed;
      } while (next_index(tap, s.kernel));
      out.max.push_back(best);
      out.average.push_back(sum / static_cast<double>(divisor));
      out.indices.push_back(static_cast<double>(index));
      out.column_major.push_back(static_cast<double>(column));
    } while (next_index(position, spatial));
  }
  return out;
}

KernelCase pool_case(uint32_t op, const PoolShape& s, const TestTensor& x) {
  KernelCase c(op);
  c.input(x).attr(BP_ATTR_KERNEL_SHAPE, NodeGraph::Attr(s.kernel)).attr(BP_ATTR_STRIDES, NodeGraph::Attr(s.strides));
  c.attr(BP_ATTR_DILATIONS, NodeGraph::Attr(s.dilations)).attr(BP_ATTR_PADS, NodeGraph::Attr(s.pads));
  c.attr(BP_ATTR_CEIL_MODE, s.ceil ? 1 : 0);
  return c;
}

void check_pool(const PoolShape& s, uint32_t dtype, Random& random, bool views) {
  Shape x_shape{s.images, s.channels};
  x_shape.insert(x_shape.end(), s.size.begin(), s.size.end());
  TestTensor x = TestTensor::random(dtype, x_shape, random), y(dtype, s.y_shape()), i(BP_TYPE_I64, s.y_shape());
  if (views) x = x.scattered(random), y = y.scattered(random), i = i.scattered(random);
  const Pooled expected = pool(s, x.values());
  pool_case(BP_OP_MAX_POOL, s, x).output(y).expect({expected.max});
  pool_case(BP_OP_MAX_POOL, s, x).output(y).output(i).expect({expected.max, expected.indices});
  pool_case(BP_OP_MAX_POOL, s, x)
      .output(y)
      .output(i)
      .attr(BP_ATTR_STORAGE_ORDER, 1)
      .expect({expected.max, expected.column_major});
  pool_case(BP_OP_AVERAGE_POOL, s, x)
      .output(y)
      .attr(BP_ATTR_COUNT_INCLUDE_PAD, s.include_pad ? 1 : 0)
      .expect({expected.average}, {1e-5, 1e-5});
}

TEST(PoolTest, MatchesLoopsForRandomShapes) {
  for (uint32_t seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    PoolShape s;
    const size_t rank = 1 + seed % 3;
    s.ceil = random.integer(0, 1) == 1;
    s.include_pad = random.integer(0, 1) == 1;
    for (size_t a = 0; a < rank; ++a) {
      s.kernel.push_back(random.integer(1, 4));
      s.dilations.push_back(random.integer(0, 2) == 0 ? 2 : 1);
      s.strides.push_back(random.integer(1, 4));
      s.size.push_back(s.dilations[a] * (s.kernel[a] - 1) + random.integer(1, rank == 1 ? 50 : rank == 2 ? 18 : 6));
    }
    for (size_t a = 0; a < 2 * rank; ++a) s.pads.push_back(random.integer(0, s.kernel[a % rank] - 1));
    check_pool(s, seed % 5 == 0 ? BP_TYPE_F64 : BP_TYPE_F32, random, seed % 4 == 1);
  }
}

TEST(PoolTest, GlobalAndTallPools) {
  Random random(3);
  check_pool({{7, 9}, {7, 9}, {1, 1}, {1, 1}, {0, 0, 0, 0}}, BP_TYPE_F32, random, false);
  check_pool({{60, 41}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}, BP_TYPE_F32, random, false);
}

// 4 columns, kernel 1, stride 3, one padded column: ceil would give a third window that starts at column 6.
TEST(PoolTest, CeilDropsWindowsThatStartInTheRightPadding) {
  const TestTensor x(BP_TYPE_F32, {1, 1, 3}, {5, 6, 7});
  KernelCase c(BP_OP_MAX_POOL);
  c.input(x).output(BP_TYPE_F32, {1, 1, 2}).attr(BP_ATTR_KERNEL_SHAPE, NodeGraph::Attr(Shape{2}));
  c.attr(BP_ATTR_STRIDES, NodeGraph::Attr(Shape{2})).attr(BP_ATTR_PADS, NodeGraph::Attr(Shape{0, 2}));
  c.attr(BP_ATTR_CEIL_MODE, 1).expect({{6, 7}});
}

TEST(PoolTest, NaNWins) {
  const TestTensor x(BP_TYPE_F32, {1, 1, 8}, {1, 2, NAN, 4, 5, 6, 7, 8});
  KernelCase(BP_OP_MAX_POOL)
      .input(x)
      .output(BP_TYPE_F32, {1, 1, 7})
      .attr(BP_ATTR_KERNEL_SHAPE, NodeGraph::Attr(Shape{2}))
      .expect({{2, NAN, NAN, 5, 6, 7, 8}});
  KernelCase(BP_OP_MAX_POOL)
      .input(x)
      .output(BP_TYPE_F32, {1, 1, 7})
      .output(BP_TYPE_I64, {1, 1, 7})
      .attr(BP_ATTR_KERNEL_SHAPE, NodeGraph::Attr(Shape{2}))
      .expect({{2, NAN, NAN, 5, 6, 7, 8}, {1, 2, 2, 4, 5, 6, 7}});
}

TEST(PoolTest, EmptyBatch) {
  KernelCase(BP_OP_AVERAGE_POOL)
      .input(TestTensor(BP_TYPE_F32, {0, 2, 5}))
      .output(BP_TYPE_F32, {0, 2, 4})
      .attr(BP_ATTR_KERNEL_SHAPE, NodeGraph::Attr(Shape{2}))
      .expect({{}});
}

TEST(PoolTest, RefusesPrecisely) {
  const TestTensor x(BP_TYPE_F32, {1, 1, 5});
  EXPECT_NE(
      KernelCase(BP_OP_MAX_POOL).input(x).output(BP_TYPE_F32, {1, 1, 4}).refusal().find("kernel_shape, found none"),
      std::string::npos);
  EXPECT_NE(KernelCase(BP_OP_MAX_POOL)
                .input(x)
                .output(BP_TYPE_F32, {1, 1, 5})
                .attr(BP_ATTR_KERNEL_SHAPE, NodeGraph::Attr(Shape{2}))
                .refusal()
                .find("y has shape [1, 1, 5], wanted [1, 1, 4]"),
            std::string::npos);
}

}  // namespace
}  // namespace backplane_cpu::testing
