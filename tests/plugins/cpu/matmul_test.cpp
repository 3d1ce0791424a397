// matmul and gemm against loops in double: every type, broadcasts, views, odd sizes, empty sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

// Right-aligned broadcast of batch axes.
Shape broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t i = 1; i <= out.size(); ++i) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1;
    const int64_t y = i <= b.size() ? b[b.size() - i] : 1;
    out[out.size() - i] = x == 1 ? y : x;
  }
  return out;
}

int64_t batch_index(const Shape& own, const Shape& index) {
  int64_t flat = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const int64_t at = index[index.size() - own.size() + i];
    flat = flat * own[i] + (own[i] == 1 ? 0 : at);
  }
  return flat;
}

// a [..., M, K] times b [..., K, N], NumPy rules.
Values product(const TestTensor& a, const TestTensor& b) {
  const Shape a_batch = batch_of(a.shape), b_batch = batch_of(b.shape), batch = broadcast(a_batch, b_batch);
  const int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  const Values x = a.values(), y = b.values();
  Values out;
  int64_t count = 1;
  for (const int64_t extent : batch) count *= extent;
  Shape index(batch.size(), 0);
  for (int64_t item = 0; item < count; ++item) {
    const double* xa = x.data() + batch_index(a_batch, index) * m * k;
    const double* yb = y.data() + batch_index(b_batch, index) * k * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) sum += xa[i * k + l] * yb[l * n + j];
        out.push_back(sum);
      }
    }
    next_index(index, batch);
  }
  return out;
}

Shape product_shape(const TestTensor& a, const TestTensor& b) {
  Shape shape = broadcast(batch_of(a.shape), batch_of(b.shape));
  shape.push_back(a.shape[a.shape.size() - 2]);
  shape.push_back(b.shape.back());
  return shape;
}

void check_matmul(const TestTensor& a, const TestTensor& b, Tolerance tolerance) {
  KernelCase(BP_OP_MATMUL).input(a).input(b).output(a.dtype, product_shape(a, b)).expect({product(a, b)}, tolerance);
}

constexpr Tolerance kF32{2e-5, 2e-4};

TEST(MatmulTest, MatchesNaiveProductForManySizes) {
  Random random(11);
  const int64_t sizes[] = {1, 2, 5, 6, 7, 12, 13, 16, 17, 33, 65};
  for (const int64_t m : sizes) {
    for (const int64_t n : sizes) {
      const int64_t k = sizes[random.integer(0, 10)];
      SCOPED_TRACE("seed 11, m " + std::to_string(m) + " n " + std::to_string(n) + " k " + std::to_string(k));
      check_matmul(TestTensor::random(BP_TYPE_F32, {m, k}, random), TestTensor::random(BP_TYPE_F32, {k, n}, random),
                   kF32);
    }
  }
}

TEST(MatmulTest, CrossesDepthAndColumnBlocks) {
  Random random(12);
  check_matmul(TestTensor::random(BP_TYPE_F32, {31, 523}, random), TestTensor::random(BP_TYPE_F32, {523, 70}, random),
               kF32);
  check_matmul(TestTensor::random(BP_TYPE_F32, {103, 9}, random), TestTensor::random(BP_TYPE_F32, {9, 811}, random),
               kF32);
  check_matmul(TestTensor::random(BP_TYPE_F32, {4, 300}, random), TestTensor::random(BP_TYPE_F32, {300, 131}, random),
               kF32);
}

// More of A than one chunk of packed rows holds: several phase pairs.
TEST(MatmulTest, SplitsLargeLeftOperandsIntoChunks) {
  Random random(13);
  const TestTensor a = TestTensor::random(BP_TYPE_F32, {300, 9001}, random, -1, 1);
  const TestTensor b = TestTensor::random(BP_TYPE_F32, {9001, 3}, random, -1, 1);
  check_matmul(a, b, {1e-4, 2e-3});
}

TEST(MatmulTest, TakesViewsOfAnyStrides) {
  Random random(14);
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE("seed 14, round " + std::to_string(round));
    const int64_t m = random.integer(1, 40), n = random.integer(1, 40), k = random.integer(1, 60);
    const TestTensor a = TestTensor::random(BP_TYPE_F32, {m, k}, random);
    const TestTensor b = TestTensor::random(BP_TYPE_F32, {k, n}, random);
    const TestTensor at = TestTensor::random(BP_TYPE_F32, {k, m}, random).permuted({1, 0});
    const TestTensor bt = TestTensor::random(BP_TYPE_F32, {n, k}, random).permuted({1, 0});
    check_matmul(at, b, kF32);
    check_matmul(a, bt, kF32);
    check_matmul(a.scattered(random), b.scattered(random), kF32);
    const TestTensor y = TestTensor(BP_TYPE_F32, {m, n}).scattered(random);
    KernelCase(BP_OP_MATMUL).input(a).input(b).output(y).expect({product(a, b)}, kF32);
    const TestTensor yt = TestTensor(BP_TYPE_F32, {n, m}).permuted({1, 0});
    KernelCase(BP_OP_MATMUL).input(at).input(bt).output(yt).expect({product(at, bt)}, kF32);
  }
}

TEST(MatmulTest, BroadcastsBatchAxes) {
  Random random(15);
  const std::pair<Shape, Shape> cases[] = {
      {{3, 5, 7}, {3, 7, 9}},    {{4, 5, 7}, {7, 9}},          {{5, 7}, {4, 7, 9}},
      {{2, 1, 5, 7}, {3, 7, 9}}, {{1, 3, 5, 7}, {2, 1, 7, 4}}, {{2, 3, 1, 40}, {2, 3, 40, 9}},
      {{6, 1, 33}, {33, 20}},    {{2, 1, 1, 9}, {1, 9, 1}},    {{1, 1, 8, 8}, {1, 1, 8, 8}},
      {{40, 3, 8}, {40, 8, 30}}, {{2, 0, 3, 4}, {4, 5}},       {{0, 3, 4}, {0, 4, 2}}};
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64})
    for (const auto& [a, b] : cases)
      check_matmul(TestTensor::random(dtype, a, random), TestTensor::random(dtype, b, random), kF32);
}

TEST(MatmulTest, PromotesVectors) {
  Random random(16);
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_I32}) {
    const TestTensor v = TestTensor::random(dtype, {37}, random), w = TestTensor::random(dtype, {37}, random);
    const TestTensor m = TestTensor::random(dtype, {3, 37, 21}, random),
                     l = TestTensor::random(dtype, {2, 19, 37}, random);
    double dot = 0;
    for (int64_t i = 0; i < 37; ++i) dot += v.get(i) * w.get(i);
    KernelCase(BP_OP_MATMUL).input(v).input(w).output(dtype, {}).expect({{dot}}, kF32);
    TestTensor row = v, column = w;
    row.shape = {1, 37}, row.strides = {0, v.strides[0]};
    column.shape = {37, 1}, column.strides = {w.strides[0], 0};
    KernelCase(BP_OP_MATMUL).input(v).input(m).output(dtype, {3, 21}).expect({product(row, m)}, kF32);
    KernelCase(BP_OP_MATMUL).input(l).input(w).output(dtype, {2, 19}).expect({product(l, column)}, kF32);
  }
}

TEST(MatmulTest, IntegersAreExactAndWrap) {
  Random random(17);
  for (const uint32_t dtype : {BP_TYPE_I32, BP_TYPE_U32, BP_TYPE_I64, BP_TYPE_U64}) {
    const TestTensor a = TestTensor::random(dtype, {9, 70}, random, 0, 1000).scattered(random);
    check_matmul(a, TestTensor::random(dtype, {70, 66}, random, 0, 1000), {});
  }
  const TestTensor big = TestTensor::exact<int32_t>(BP_TYPE_I32, {1, 2}, {INT32_MAX, -3});
  const TestTensor two = TestTensor::exact<int32_t>(BP_TYPE_I32, {2, 1}, {2, 5});
  KernelCase(BP_OP_MATMUL).input(big).input(two).output(BP_TYPE_I32, {1, 1}).expect({{-2 - 15}});
}

TEST(MatmulTest, EmptySumsAreZeroAndEmptyResultsAreUntouched) {
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_I64}) {
    check_matmul(TestTensor(dtype, {5, 0}), TestTensor(dtype, {0, 19}), {});
    check_matmul(TestTensor(dtype, {1, 0}), TestTensor(dtype, {0, 19}), {});
    check_matmul(TestTensor(dtype, {0, 4}), TestTensor(dtype, {4, 19}), {});
    check_matmul(TestTensor(dtype, {6, 4}), TestTensor(dtype, {4, 0}), {});
  }
}

TEST(MatmulTest, PropagatesNaNAndInfinity) {
  const double inf = INFINITY;
  const TestTensor a(BP_TYPE_F32, {2, 2}, {inf, 1, 0, NAN});
  const TestTensor b(BP_TYPE_F32, {2, 2}, {1, 0, 1, 1});
  KernelCase(BP_OP_MATMUL).input(a).input(b).output(BP_TYPE_F32, {2, 2}).expect({{inf, NAN, NAN, NAN}});
}

TEST(MatmulTest, RefusesPrecisely) {
  const TestTensor a(BP_TYPE_F32, {2, 3}), wrong(BP_TYPE_F32, {4, 2}), b(BP_TYPE_F32, {3, 2});
  EXPECT_EQ(KernelCase(BP_OP_MATMUL).input(a).input(wrong).output(BP_TYPE_F32, {2, 2}).refusal(),
            "matmul: a [2, 3] and b [4, 2] differ in the summed axis");
  EXPECT_EQ(KernelCase(BP_OP_MATMUL).input(a).input(b).output(BP_TYPE_F32, {2, 3}).refusal(),
            "matmul: y has shape [2, 3], wanted [2, 2]");
  EXPECT_EQ(
      KernelCase(BP_OP_MATMUL).input(a).input(TestTensor(BP_TYPE_F64, {3, 2})).output(BP_TYPE_F32, {2, 2}).refusal(),
      "matmul: b has type f64, wanted f32");
  EXPECT_EQ(KernelCase(BP_OP_MATMUL)
                .input(TestTensor(BP_TYPE_BOOL, {2, 2}))
                .input(TestTensor(BP_TYPE_BOOL, {2, 2}))
                .output(BP_TYPE_BOOL, {2, 2})
                .refusal(),
            "matmul: a has type bool, wanted f32, f64, i32, i64, u32 or u64");
  EXPECT_NE(KernelCase(BP_OP_MATMUL).input(a).input(b).output(BP_TYPE_F32, {2, 2}).attr(BP_ATTR_AXIS, 1).refusal(), "");
}

TEST(GemmTest, AddsScaledBaseOfEveryBroadcast) {
  Random random(18);
  for (const uint32_t dtype : {BP_TYPE_F32, BP_TYPE_F64, BP_TYPE_I32}) {
    for (const Shape& c_shape :
         {Shape{}, Shape{1}, Shape{21}, Shape{1, 21}, Shape{13, 1}, Shape{13, 21}, Shape{1, 1}}) {
      for (const int64_t k : {0, 1, 17, 300}) {
        const TestTensor a = TestTensor::random(dtype, {k, 13}, random).permuted({1, 0});
        const TestTensor b = TestTensor::random(dtype, {k, 21}, random);
        const TestTensor c = TestTensor::random(dtype, c_shape, random);
        const double alpha = dtype == BP_TYPE_I32 ? 3 : 0.75, beta = dtype == BP_TYPE_I32 ? -2 : 1.5;
        Values expected = product(a, b);
        const Values base = c.broadcast({13, 21}).values();
        for (size_t i = 0; i < expected.size(); ++i) expected[i] = alpha * expected[i] + beta * base[i];
        KernelCase(BP_OP_GEMM)
            .input(a)
            .input(b)
            .input(c)
            .output(dtype, {13, 21})
            .attr(BP_ATTR_ALPHA, alpha)
            .attr(BP_ATTR_BETA, beta)
            .expect({expected}, {2e-5, 4e-4});
      }
    }
  }
}

TEST(GemmTest, BaseIsOptionalAndTransposedOutputWorks) {
  Random random(19);
  const TestTensor a = TestTensor::random(BP_TYPE_F32, {1, 50}, random),
                   b = TestTensor::random(BP_TYPE_F32, {50, 33}, random);
  KernelCase(BP_OP_GEMM).input(a).input(b).output(BP_TYPE_F32, {1, 33}).expect({product(a, b)}, kF32);
  const TestTensor c = TestTensor::random(BP_TYPE_F32, {9, 33}, random),
                   d = TestTensor::random(BP_TYPE_F32, {9, 50}, random);
  Values expected = product(d, b);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += c.get(static_cast<int64_t>(i));
  KernelCase(BP_OP_GEMM)
      .input(d)
      .input(b)
      .input(c)
      .output(TestTensor(BP_TYPE_F32, {33, 9}).permuted({1, 0}))
      .expect({expected}, kF32);
}

TEST(GemmTest, RefusesBaseThatDoesNotBroadcast) {
  const TestTensor a(BP_TYPE_F32, {2, 3}), b(BP_TYPE_F32, {3, 4});
  EXPECT_EQ(KernelCase(BP_OP_GEMM)
                .input(a)
                .input(b)
                .input(TestTensor(BP_TYPE_F32, {3}))
                .output(BP_TYPE_F32, {2, 4})
                .refusal(),
            "gemm: c has shape [3], wanted one that broadcasts to [2, 4]");
}

}  // namespace
}  // namespace backplane_cpu::testing
