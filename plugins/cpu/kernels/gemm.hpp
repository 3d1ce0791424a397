// Gemm: batches of f32 matrix products C = alpha·A·B + base, blocked and packed for the cache and the vector unit.
//
// A batch has `items` matrices A, each multiplied with `repeats` matrices B: a convolution has one item per group and
// one repeat per image. Per item, phase 2i packs a chunk of A into scratch that all workers share; phase 2i + 1
// multiplies: every worker takes a part of the columns (and rows, if columns are few) and packs its own part of B, or
// reads it through `GemmSource::read_b`, so that a convolution never builds its im2col matrix. Sums are f32.
// Thread safety: const after construction; scratch belongs to one run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace backplane_cpu {

// Strides are in elements and may be zero.
struct ConstMatrix {
  const float* data = nullptr;  // null = read through GemmSource
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};
struct MutableMatrix {
  float* data = nullptr;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

// One product: what it reads and where it writes.
struct GemmUnit {
  ConstMatrix b;
  MutableMatrix c;
  ConstMatrix base;           // null = 0
  int64_t index[2] = {0, 0};  // the source's own marks, e.g. image and group
};

class GemmSource {
 public:
  virtual ~GemmSource() = default;
  virtual ConstMatrix a(int64_t item) const = 0;
  virtual GemmUnit unit(int64_t item, int64_t repeat) const = 0;
  // Writes A[row, k0 ... k0 + count) of an item whose a() has no data.
  virtual void read_a(int64_t /*item*/, int64_t /*row*/, int64_t /*k0*/, int64_t /*count*/, float* /*out*/) const {}
  // Writes B[k, n0 ... n0 + count) of a unit whose b has no data.
  virtual void read_b(const GemmUnit& /*unit*/, int64_t /*k*/, int64_t /*n0*/, int64_t /*count*/,
                      float* /*out*/) const {}
};

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t items = 1;
  int64_t repeats = 1;
  float alpha = 1;  // of the product
  float beta = 1;   // of the base
};

class Gemm {
 public:
  Gemm() = default;
  explicit Gemm(const GemmShape& shape);

  uint32_t phases() const;
  size_t scratch_bytes(uint32_t workers) const;
  uint32_t max_workers() const;
  void run(const GemmSource& source, std::byte* scratch, uint32_t phase, uint32_t worker,
           uint32_t workers) const noexcept;

 private:
  // What one phase pair works on: items [item, item + items), rows [row, row + rows) of each.
  struct Chunk {
    int64_t item, items, row, rows;
  };
  struct Block;  // one worker's columns of one unit

  Chunk chunk_at(uint32_t pair) const;
  size_t packed_a_floats() const;
  size_t worker_floats() const;
  void pack_a(const GemmSource& source, const Chunk& chunk, float* packed, float* row, uint32_t worker,
              uint32_t workers) const;
  void multiply(const GemmSource& source, const Chunk& chunk, const float* packed, float* own, uint32_t worker,
                uint32_t workers) const;
  void multiply_block(const GemmSource& source, const Block& block, float* own) const;

  GemmShape shape_;
  int64_t items_per_chunk_ = 1;
  int64_t rows_per_chunk_ = 0;
};

// y[n] = Σ x[k]·b[k, n] for n in [begin, end): the product of a row and a matrix, which packing would only slow down.
// x and y are dense; b has unit stride along n or along k.
void gemv(const float* x, const ConstMatrix& b, int64_t k, int64_t begin, int64_t end, float* y);

}  // namespace backplane_cpu
