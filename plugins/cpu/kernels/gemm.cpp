#include "kernels/gemm.hpp"

#include <hwy/highway.h>

#include <cstring>

#include "kernels/operand.hpp"

namespace backplane_cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);
constexpr int64_t kNr = 2 * kLanes;                       // columns of the register tile
constexpr int64_t kMr = HWY_TARGET <= HWY_AVX3 ? 12 : 6;  // rows: 2·kMr sums + 2 of B + 1 of A fit the registers
constexpr int64_t kKc = 256;                              // depth of a block: kKc·kNr of B stay in L1
constexpr int64_t kNc = 24 * kNr;                         // columns of a block: kKc·kNc of B stay in L2
constexpr int64_t kMc = 16 * kMr;                         // rows of a block
constexpr int64_t kDirectRows = 2 * kMr;                  // up to here B is read where it lies
constexpr int64_t kPanelGap = 16;                         // keeps equal rows of panels out of one cache set
constexpr int64_t kPackedFloats = int64_t{2} << 20;       // of A, per chunk

int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
size_t round_16(int64_t floats) { return static_cast<size_t>(div_up(floats, 16) * 16); }

// Where a register tile goes, and what is added to it.
struct Tile {
  MutableMatrix c;   // at the tile's first element
  ConstMatrix base;  // likewise; null = none
  bool accumulate;   // add to C instead of to base
  float alpha, beta;
};

V starting_values(D d, const Tile& tile, int64_t row, int64_t column) {
  if (tile.accumulate) return hn::LoadU(d, tile.c.data + row * tile.c.row_stride + column);
  if (tile.base.data == nullptr) return hn::Zero(d);
  const float* base = tile.base.data + row * tile.base.row_stride + column * tile.base.column_stride;
  return hn::Mul(hn::Set(d, tile.beta), tile.base.column_stride == 0 ? hn::Set(d, *base) : hn::LoadU(d, base));
}

void store_scalars(const Tile& tile, const float* sums, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float* c = tile.c.data + i * tile.c.row_stride + j * tile.c.column_stride;
      float start = 0;
      if (tile.accumulate) {
        start = *c;
      } else if (tile.base.data != nullptr) {
        start = tile.beta * tile.base.data[i * tile.base.row_stride + j * tile.base.column_stride];
      }
      *c = start + tile.alpha * sums[i * kNr + j];
    }
  }
}

// Multiplies kRows rows of a packed panel of A with kNr columns of B.
template <int kRows>
void multiply_tile(const float* a, const float* b, int64_t b_stride, int64_t depth, const Tile& tile, int64_t columns) {
  const D d;
  V sums[kRows][2];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) sums[i][0] = sums[i][1] = hn::Zero(d);
  for (int64_t k = 0; k < depth; ++k) {
    const V b0 = hn::LoadU(d, b);
    const V b1 = hn::LoadU(d, b + kLanes);
    b += b_stride;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const V value = hn::Set(d, a[i]);
      sums[i][0] = hn::MulAdd(value, b0, sums[i][0]);
      sums[i][1] = hn::MulAdd(value, b1, sums[i][1]);
    }
    a += kMr;
  }
  if (columns == kNr && tile.c.column_stride == 1 && tile.base.column_stride <= 1) {
    const V alpha = hn::Set(d, tile.alpha);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      float* c = tile.c.data + i * tile.c.row_stride;
      hn::StoreU(hn::MulAdd(alpha, sums[i][0], starting_values(d, tile, i, 0)), d, c);
      hn::StoreU(hn::MulAdd(alpha, sums[i][1], starting_values(d, tile, i, kLanes)), d, c + kLanes);
    }
    return;
  }
  alignas(64) float buffer[kMr * kNr];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
    hn::StoreU(sums[i][0], d, buffer + i * kNr);
    hn::StoreU(sums[i][1], d, buffer + i * kNr + kLanes);
  }
  store_scalars(tile, buffer, kRows, columns);
}

using TileFn = void (*)(const float*, const float*, int64_t, int64_t, const Tile&, int64_t);

template <int... kRows>
constexpr TileFn tile_function(int64_t rows, std::integer_sequence<int, kRows...>) {
  constexpr TileFn kTable[] = {multiply_tile<kRows + 1>...};
  return kTable[rows - 1];
}
TileFn tile_function(int64_t rows) { return tile_function(rows, std::make_integer_sequence<int, kMr>()); }

void pack_row(const float* source, int64_t stride, int64_t count, float* target) {
  for (int64_t k = 0; k < count; ++k) target[k * kMr] = source[k * stride];
}

// kMr rows of unit column stride at once: reads run along six or twelve streams, writes along one.
void pack_full_panel(const ConstMatrix& a, int64_t count, float* target) {
  const float* rows[kMr];
  for (int64_t i = 0; i < kMr; ++i) rows[i] = a.data + i * a.row_stride;
  for (int64_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < kMr; ++i) *target++ = rows[i][k];
}

void copy_panel_row(const float* source, int64_t count, float* target) {
  const D d;
  if (count == kNr) {
    hn::StoreU(hn::LoadU(d, source), d, target);
    hn::StoreU(hn::LoadU(d, source + kLanes), d, target + kLanes);
    return;
  }
  for (int64_t j = 0; j < count; ++j) target[j] = source[j];
  for (int64_t j = count; j < kNr; ++j) target[j] = 0;
}

// One panel of B from memory: `count` columns at b.data, `depth` deep.
void pack_panel(const ConstMatrix& b, int64_t depth, int64_t count, float* target) {
  if (b.column_stride == 1) {
    for (int64_t k = 0; k < depth; ++k) copy_panel_row(b.data + k * b.row_stride, count, target + k * kNr);
    return;
  }
  for (int64_t j = 0; j < count; ++j) {
    const float* source = b.data + j * b.column_stride;
    for (int64_t k = 0; k < depth; ++k) target[k * kNr + j] = source[k * b.row_stride];
  }
  for (int64_t j = count; j < kNr; ++j)
    for (int64_t k = 0; k < depth; ++k) target[k * kNr + j] = 0;
}

}  // namespace

struct Gemm::Block {
  const GemmUnit& unit;
  const float* a;     // packed panels of the unit's item
  int64_t row;        // of C, of the first panel
  int64_t first_row;  // of the chunk: panels start here
  int64_t rows;       // to do, from `row` on
  int64_t column, columns;
};

Gemm::Gemm(const GemmShape& shape) : shape_(shape), rows_per_chunk_(shape.m) {
  const int64_t floats = div_up(std::max<int64_t>(shape.m, 1), kMr) * kMr * std::max<int64_t>(shape.k, 1);
  items_per_chunk_ = std::max<int64_t>(1, std::min(shape.items, kPackedFloats / floats));
  if (floats > kPackedFloats) {
    const int64_t panels = std::max<int64_t>(16, kPackedFloats / (shape.k * kMr));
    rows_per_chunk_ = std::min(shape.m, panels * kMr);
  }
}

uint32_t Gemm::phases() const {
  const int64_t pairs =
      div_up(shape_.items, items_per_chunk_) * div_up(shape_.m, std::max<int64_t>(rows_per_chunk_, 1));
  return static_cast<uint32_t>(2 * std::max<int64_t>(pairs, 1));
}

uint32_t Gemm::max_workers() const {
  return worth_workers(shape_.m * shape_.n * shape_.k * shape_.items * shape_.repeats);
}

size_t Gemm::packed_a_floats() const {
  return round_16(items_per_chunk_ * div_up(rows_per_chunk_, kMr) * kMr * shape_.k);
}

size_t Gemm::worker_floats() const {
  const int64_t panels = div_up(std::min(shape_.n, kNc), kNr);
  return round_16(panels * (std::min(shape_.k, kKc) * kNr + kPanelGap)) + round_16(std::max(kNc, kKc));
}

size_t Gemm::scratch_bytes(uint32_t workers) const {
  return (packed_a_floats() + workers * worker_floats()) * sizeof(float);
}

Gemm::Chunk Gemm::chunk_at(uint32_t pair) const {
  const int64_t row_chunks = div_up(shape_.m, rows_per_chunk_);
  const int64_t item = pair / row_chunks * items_per_chunk_;
  const int64_t row = pair % row_chunks * rows_per_chunk_;
  return {item, std::min(items_per_chunk_, shape_.items - item), row, std::min(rows_per_chunk_, shape_.m - row)};
}

void Gemm::run(const GemmSource& source, std::byte* scratch, uint32_t phase, uint32_t worker,
               uint32_t workers) const noexcept {
  if (shape_.m == 0 || shape_.n == 0 || shape_.items == 0 || shape_.repeats == 0) return;
  float* packed = reinterpret_cast<float*>(scratch);
  float* own = packed + packed_a_floats() + worker * worker_floats();
  const Chunk chunk = chunk_at(phase / 2);
  if (phase % 2 == 0) {
    pack_a(source, chunk, packed, own, worker, workers);
  } else {
    multiply(source, chunk, packed, own, worker, workers);
  }
}

void Gemm::pack_a(const GemmSource& source, const Chunk& chunk, float* packed, float* buffer, uint32_t worker,
                  uint32_t workers) const {
  const int64_t panels = div_up(chunk.rows, kMr);
  const Range range = share(chunk.items * panels, 1, worker, workers);
  for (int64_t index = range.begin; index < range.end; ++index) {
    const int64_t item = chunk.item + index / panels;
    const int64_t row = chunk.row + index % panels * kMr;
    const int64_t rows = std::min(kMr, chunk.row + chunk.rows - row);
    float* target = packed + index * kMr * shape_.k;
    ConstMatrix a = source.a(item);
    a.data = a.data == nullptr ? nullptr : a.data + row * a.row_stride;
    if (a.data != nullptr && a.column_stride == 1 && rows == kMr) {
      pack_full_panel(a, shape_.k, target);
    } else if (a.data != nullptr && a.row_stride == 1) {
      for (int64_t k = 0; k < shape_.k; ++k)
        for (int64_t i = 0; i < rows; ++i) target[k * kMr + i] = a.data[k * a.column_stride + i];
    } else if (a.data != nullptr) {
      for (int64_t i = 0; i < rows; ++i) pack_row(a.data + i * a.row_stride, a.column_stride, shape_.k, target + i);
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < shape_.k; k += kKc) {
          const int64_t count = std::min(kKc, shape_.k - k);
          source.read_a(item, row + i, k, count, buffer);
          pack_row(buffer, 1, count, target + k * kMr + i);
        }
      }
    }
  }
}

void Gemm::multiply(const GemmSource& source, const Chunk& chunk, const float* packed, float* own, uint32_t worker,
                    uint32_t workers) const {
  const int64_t row_panels = div_up(chunk.rows, kMr);
  const int64_t column_panels = div_up(shape_.n, kNr);
  const int64_t columns = chunk.items * shape_.repeats * column_panels;
  // Splitting rows makes workers pack the same part of B, so only if columns cannot feed all workers evenly.
  const int64_t row_parts =
      workers == 1 || columns >= 4 * int64_t{workers} ? 1 : std::min(row_panels, div_up(2 * int64_t{workers}, columns));
  const Range range = share(row_parts * columns, 1, worker, workers);
  for (int64_t index = range.begin; index < range.end;) {
    const int64_t part = index / columns;
    const int64_t pair = index % columns / column_panels;
    const int64_t panel = index % column_panels;
    const int64_t count = std::min(column_panels - panel, range.end - index);
    const int64_t item = pair / shape_.repeats;
    const GemmUnit unit = source.unit(chunk.item + item, pair % shape_.repeats);
    const int64_t first = row_panels * part / row_parts * kMr;
    const int64_t last = std::min(row_panels * (part + 1) / row_parts * kMr, chunk.rows);
    multiply_block(source,
                   {unit, packed + item * row_panels * kMr * shape_.k, chunk.row + first, chunk.row, last - first,
                    panel * kNr, std::min(count * kNr, shape_.n - panel * kNr)},
                   own);
    index += count;
  }
}

namespace {

// The columns [column, column + columns) × [k0, k0 + depth) of B, packed or in place.
struct PanelSet {
  const float* packed;
  int64_t stride;      // from panel to panel
  ConstMatrix direct;  // data = null: all panels are packed

  const float* panel(int64_t index, bool full, int64_t& row_stride) const {
    const bool in_place = direct.data != nullptr && full;
    row_stride = in_place ? direct.row_stride : kNr;
    return in_place ? direct.data + index * kNr : packed + index * stride;
  }
};

PanelSet pack_b(const GemmSource& source, const GemmUnit& unit, int64_t column, int64_t columns, int64_t k0,
                int64_t depth, bool direct, float* own, float* row) {
  PanelSet set{own, depth * kNr + kPanelGap, {}};
  if (unit.b.data == nullptr) {
    for (int64_t k = 0; k < depth; ++k) {
      source.read_b(unit, k0 + k, column, columns, row);
      for (int64_t j = 0, p = 0; j < columns; j += kNr, ++p)
        copy_panel_row(row + j, std::min(kNr, columns - j), own + p * set.stride + k * kNr);
    }
    return set;
  }
  const ConstMatrix b{unit.b.data + k0 * unit.b.row_stride + column * unit.b.column_stride, unit.b.row_stride,
                      unit.b.column_stride};
  if (direct && b.column_stride == 1) set.direct = b;
  constexpr int64_t kStep = 32;  // rows of B read together, so that their pages stay in the TLB
  for (int64_t k = 0; k < depth; k += kStep) {
    for (int64_t j = 0, p = 0; j < columns; j += kNr, ++p) {
      const int64_t count = std::min(kNr, columns - j);
      if (set.direct.data != nullptr && count == kNr) continue;
      const float* from = b.data + k * b.row_stride + j * b.column_stride;
      pack_panel({from, b.row_stride, b.column_stride}, std::min(kStep, depth - k), count,
                 own + p * set.stride + k * kNr);
    }
  }
  return set;
}

}  // namespace

void Gemm::multiply_block(const GemmSource& source, const Block& block, float* own) const {
  const GemmUnit& unit = block.unit;
  float* row_buffer = own + worker_floats() - round_16(std::max(kNc, kKc));
  const bool direct = block.rows <= kDirectRows;
  const int64_t end = block.column + block.columns;
  for (int64_t column = block.column; column < end; column += kNc) {
    const int64_t columns = std::min(kNc, end - column);
    int64_t k0 = 0;
    do {  // once even for k = 0: the base still has to be written
      const int64_t depth = std::min(kKc, shape_.k - k0);
      const PanelSet panels = pack_b(source, unit, column, columns, k0, depth, direct, own, row_buffer);
      for (int64_t i0 = 0; i0 < block.rows; i0 += kMc) {
        for (int64_t j = 0; j < columns; j += kNr) {
          const int64_t width = std::min(kNr, columns - j);
          int64_t b_stride;
          const float* b = panels.panel(j / kNr, width == kNr, b_stride);
          for (int64_t i = i0; i < std::min(block.rows, i0 + kMc); i += kMr) {
            const int64_t row = block.row + i;
            Tile tile{unit.c, unit.base, k0 > 0, shape_.alpha, shape_.beta};
            tile.c.data += row * unit.c.row_stride + (column + j) * unit.c.column_stride;
            if (tile.base.data != nullptr)
              tile.base.data += row * unit.base.row_stride + (column + j) * unit.base.column_stride;
            const float* a = block.a + (row - block.first_row) * shape_.k + k0 * kMr;
            tile_function(std::min(kMr, block.rows - i))(a, b, b_stride, depth, tile, width);
          }
        }
      }
      k0 += kKc;
    } while (k0 < shape_.k);
  }
}

namespace {

// y[0 ... count) += four rows of b, weighted.
void add_rows(const float* x, const float* b, int64_t row_stride, int64_t rows, int64_t count, float* y) {
  const D d;
  int64_t k = 0;
  for (; k + 4 <= rows; k += 4, b += 4 * row_stride) {
    const V x0 = hn::Set(d, x[k]), x1 = hn::Set(d, x[k + 1]), x2 = hn::Set(d, x[k + 2]), x3 = hn::Set(d, x[k + 3]);
    int64_t j = 0;
    for (; j + kLanes <= count; j += kLanes) {
      V sum = hn::MulAdd(x0, hn::LoadU(d, b + j), hn::LoadU(d, y + j));
      sum = hn::MulAdd(x1, hn::LoadU(d, b + row_stride + j), sum);
      sum = hn::MulAdd(x2, hn::LoadU(d, b + 2 * row_stride + j), sum);
      hn::StoreU(hn::MulAdd(x3, hn::LoadU(d, b + 3 * row_stride + j), sum), d, y + j);
    }
    for (; j < count; ++j)
      for (int64_t r = 0; r < 4; ++r) y[j] += x[k + r] * b[r * row_stride + j];
  }
  for (; k < rows; ++k, b += row_stride)
    for (int64_t j = 0; j < count; ++j) y[j] += x[k] * b[j];
}

float dot(const float* a, const float* b, int64_t count) {
  const D d;
  V sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  int64_t k = 0;
  for (; k + 4 * kLanes <= count; k += 4 * kLanes)
    for (int64_t i = 0; i < 4; ++i)
      sums[i] = hn::MulAdd(hn::LoadU(d, a + k + i * kLanes), hn::LoadU(d, b + k + i * kLanes), sums[i]);
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
  for (; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

void gemv(const float* x, const ConstMatrix& b, int64_t k, int64_t begin, int64_t end, float* y) {
  if (b.column_stride != 1) {
    for (int64_t n = begin; n < end; ++n) y[n] = dot(x, b.data + n * b.column_stride, k);
    return;
  }
  constexpr int64_t kBlock = 2048;  // of y: stays in L1 while the rows of b stream by
  for (int64_t n = begin; n < end; n += kBlock) {
    const int64_t count = std::min(kBlock, end - n);
    std::memset(y + n, 0, static_cast<size_t>(count) * sizeof(float));
    add_rows(x, b.data + n, b.row_stride, k, count, y + n);
  }
}

}  // namespace backplane_cpu
