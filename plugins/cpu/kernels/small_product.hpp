// Small products: matrices that one worker multiplies alone, in kernels that share out such products.
// Thread safety: pure functions; scratch is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace backplane_cpu {

// Strides are in elements.
template <class T>
struct Matrix {
  const T* data;
  int64_t row_stride, column_stride;
};

struct ProductShape {
  int64_t m, n, k;
};

// Of 64-byte aligned scratch, for a product of this shape or of one that is smaller along any axis. m: 64 at most.
size_t product_scratch_bytes(const ProductShape& shape);

// c [m, n] = a [m, k] · b [k, n]. a and c are dense, b has unit stride along one axis.
void multiply(const float* a, const Matrix<float>& b, const ProductShape& shape, float* c, std::byte* scratch);
void multiply(const double* a, const Matrix<double>& b, const ProductShape& shape, double* c, std::byte* scratch);

}  // namespace backplane_cpu
