#include "kernels/small_product.hpp"

#include "kernels/gemm.hpp"

namespace backplane_cpu {
namespace {

class ProductSource final : public GemmSource {
 public:
  ProductSource(const float* a, const Matrix<float>& b, const ProductShape& shape, float* c)
      : a_{a, shape.k, 1}, unit_{{b.data, b.row_stride, b.column_stride}, {c, shape.n, 1}, {}, {}} {}
  ConstMatrix a(int64_t) const override { return a_; }
  GemmUnit unit(int64_t, int64_t) const override { return unit_; }

 private:
  ConstMatrix a_;
  GemmUnit unit_;
};

}  // namespace

size_t product_scratch_bytes(const ProductShape& shape) { return Gemm({shape.m, shape.n, shape.k}).scratch_bytes(1); }

void multiply(const float* a, const Matrix<float>& b, const ProductShape& shape, float* c, std::byte* scratch) {
  constexpr int64_t kFewRows = 4;  // for which packing does not pay
  if (shape.m <= kFewRows) {
    for (int64_t i = 0; i < shape.m; ++i)
      gemv(a + i * shape.k, {b.data, b.row_stride, b.column_stride}, shape.k, 0, shape.n, c + i * shape.n);
    return;
  }
  const Gemm gemm({shape.m, shape.n, shape.k});
  const ProductSource source(a, b, shape, c);
  for (uint32_t phase = 0; phase < gemm.phases(); ++phase) gemm.run(source, scratch, phase, 0, 1);
}

void multiply(const double* a, const Matrix<double>& b, const ProductShape& shape, double* c, std::byte*) {
  for (int64_t i = 0; i < shape.m; ++i, a += shape.k, c += shape.n) {
    std::fill_n(c, shape.n, 0.0);
    for (int64_t k = 0; k < shape.k; ++k)
      for (int64_t j = 0; j < shape.n; ++j) c[j] += a[k] * b.data[k * b.row_stride + j * b.column_stride];
  }
}

}  // namespace backplane_cpu
