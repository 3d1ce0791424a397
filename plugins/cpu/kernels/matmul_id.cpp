// matmul_id: each row times the matrix that its id names. Rows are sorted by matrix, so that a panel of a matrix is
// read (and widened, or decoded) once for all of its rows.

#include <cstring>
#include <numeric>

#include "kernels/blocks.hpp"
#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"
#include "kernels/operand.hpp"
#include "kernels/small_product.hpp"

namespace backplane_cpu {
namespace {

constexpr int64_t kPanel = 32;  // columns that are multiplied at once
constexpr int64_t kRows = 32;   // rows, likewise

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The matrices, a panel at a time.
template <class T>
class Matrices {
 public:
  explicit Matrices(const TensorView& w) : decode_(decode_function(w.dtype())) {
    const std::span<const int64_t> shape = w.shape(), strides = w.strides();
    const uint32_t k_axis = decode_ != nullptr ? 2 : 1, n_axis = 3 - k_axis;
    k_ = shape[k_axis];
    matrix_ = strides[0];
    k_stride_ = strides[k_axis];
    n_stride_ = strides[n_axis];
    if (decode_ != nullptr) {
      block_ = backplane::sdk::type_layout(w.dtype()).block_elements;
      return;
    }
    column_ = ChunkReader(w.dtype(), Walk({&k_, 1}, {&k_stride_, 1}, element_bytes(w.dtype())));
    constexpr int64_t kBytes = sizeof(T);
    in_place_ = is_native(w.dtype()) && (k_stride_ == kBytes || n_stride_ == kBytes);
  }

  // Columns [first, first + count) of a matrix: in memory, or in `room` for kPanel columns. One stride is 1.
  Matrix<T> panel(const std::byte* w, int64_t matrix, int64_t first, int64_t count, T* room) const {
    const std::byte* from = w + matrix * matrix_ + first * n_stride_;
    constexpr int64_t kBytes = sizeof(T);
    if (in_place_) return {reinterpret_cast<const T*>(from), k_stride_ / kBytes, n_stride_ / kBytes};
    for (int64_t n = 0; n < count; ++n) read_column(from + n * n_stride_, room + n * k_);
    return {room, 1, k_};
  }

 private:
  void read_column(const std::byte* from, T* to) const {
    alignas(64) std::byte stage[kChunk * 8];
    if constexpr (std::is_same_v<T, float>) {
      for (int64_t k = 0; k < k_ && decode_ != nullptr; k += block_) decode_(from + k / block_ * k_stride_, to + k);
    }
    for (int64_t k = 0; k < k_ && decode_ == nullptr; k += kChunk) {
      const int64_t count = std::min(kChunk, k_ - k);
      std::memcpy(to + k, column_.read(from, k, count, stage), static_cast<size_t>(count) * sizeof(T));
    }
  }

  DecodeFn decode_;
  int64_t block_ = 1, k_ = 0, matrix_ = 0, k_stride_ = 0, n_stride_ = 0;  // strides in bytes
  ChunkReader column_;
  bool in_place_ = false;
};

// T is what is computed in. Phase 0 sorts the rows by their ids, phase 1 multiplies.
template <class T>
class MatmulIdKernel final : public Kernel {
 public:
  explicit MatmulIdKernel(const NodeView& node)
      : matrices_(node.input(1)),
        ids_(node.input(2)),
        x_rows_(row_walk(node)),
        x_row_(node.input(0).dtype(), Walk(node.input(0).shape().last(1), node.input(0).strides().last(1),
                                           element_bytes(node.input(0).dtype()))),
        y_(node.output(0)),
        narrow_(narrow_function(compute_of(node.output(0).dtype()), node.output(0).dtype())),
        count_(node.input(1).shape()[0]),
        k_(node.input(0).shape().back()),
        n_(node.output(0).shape().back()),
        rows_(std::min(kRows, ids_.walk().count())) {}
  uint32_t phases() const override { return 2; }
  size_t scratch_bytes(uint32_t workers) const override {
    return static_cast<size_t>(sorted_bytes() + workers * worker_bytes());
  }
  uint32_t max_workers() const override { return worth_workers(ids_.walk().count() * k_ * n_); }

  void run(const RunArgs& args) const noexcept override {
    if (y_.count() == 0) return;
    auto* sorted = reinterpret_cast<int64_t*>(args.scratch);
    if (args.phase == 0) return args.worker == 0 ? sort(args, sorted) : void();
    if (args.error->load() != nullptr) return;
    const int64_t* used = sorted + ids_.walk().count() + count_ + 1;
    const int64_t panels = (n_ + kPanel - 1) / kPanel;
    const Range range = share(used[count_] * panels, 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i)
      multiply(args, sorted, used[i / panels], i % panels * kPanel, std::min(kPanel, n_ - i % panels * kPanel));
  }

 private:
  // x without its last axis, broadcast to the ids.
  static Walk row_walk(const NodeView& node) {
    const TensorView x = node.input(0);
    const std::span<const int64_t> ids = node.input(2).shape();
    std::vector<int64_t> strides(ids.size(), 0);
    for (uint32_t axis = 0; axis + 1 < x.rank(); ++axis)
      if (x.shape()[axis] != 1) strides[ids.size() - (x.rank() - 1) + axis] = x.strides()[axis];
    return Walk(ids, strides, 1);
  }

  // Sorted: the rows by id, where each id's rows begin and the last end, the ids that have rows, how many these are.
  int64_t sorted_bytes() const { return aligned((ids_.walk().count() + 2 * (count_ + 1)) * 8); }
  // Of a worker: a panel, rows of x and of y, what the product needs.
  int64_t part_bytes(int64_t elements) const { return aligned(elements * static_cast<int64_t>(sizeof(T))); }
  int64_t worker_bytes() const {
    return part_bytes(kPanel * k_) + part_bytes(rows_ * k_) + part_bytes(rows_ * kPanel) +
           aligned(static_cast<int64_t>(product_scratch_bytes({rows_, kPanel, k_})));
  }

  int64_t id(const RunArgs& args, int64_t row) const {
    alignas(64) std::byte stage[8];
    int64_t id = 0;
    std::memcpy(&id, ids_.read(args.inputs[2], row, 1, stage), sizeof id);
    return id < 0 ? id + count_ : id;
  }

  void sort(const RunArgs& args, int64_t* sorted) const {
    const int64_t rows = ids_.walk().count();
    int64_t *starts = sorted + rows, *used = starts + count_ + 1;
    std::fill_n(starts, 2 * (count_ + 1), 0);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t matrix = id(args, row);
      if (matrix < 0 || matrix >= count_) return args.error->store("an id names none of the matrices");
      ++starts[matrix + 1];
    }
    for (int64_t matrix = 0; matrix < count_; ++matrix)
      if (starts[matrix + 1] != 0) used[used[count_]++] = matrix;
    std::partial_sum(starts, starts + count_ + 1, starts);
    // Filling moves each begin to the end, which is the next one's begin.
    for (int64_t row = 0; row < rows; ++row) sorted[starts[id(args, row)]++] = row;
    std::copy_backward(starts, starts + count_, starts + count_ + 1);
    starts[0] = 0;
  }

  void multiply(const RunArgs& args, const int64_t* sorted, int64_t matrix, int64_t first, int64_t count) const {
    std::byte* own = args.scratch + sorted_bytes() + args.worker * worker_bytes();
    T* x = reinterpret_cast<T*>(own + part_bytes(kPanel * k_));
    std::byte* sums = own + part_bytes(kPanel * k_) + part_bytes(rows_ * k_);
    const Matrix<T> panel = matrices_.panel(args.inputs[1], matrix, first, count, reinterpret_cast<T*>(own));
    const int64_t* starts = sorted + ids_.walk().count();
    for (int64_t i = starts[matrix]; i < starts[matrix + 1]; i += rows_) {
      const int64_t rows = std::min(rows_, starts[matrix + 1] - i);
      for (int64_t row = 0; row < rows; ++row)
        read_row(args.inputs[0] + x_rows_.position(sorted[i + row]), x + row * k_);
      T* y = reinterpret_cast<T*>(sums);
      backplane_cpu::multiply(x, panel, {rows, count, k_}, y, sums + part_bytes(rows_ * kPanel));
      for (int64_t row = 0; row < rows; ++row) give(args, y + row * count, sorted[i + row] * n_ + first, count);
    }
  }

  void read_row(const std::byte* x, T* to) const {
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t k = 0; k < k_; k += kChunk) {
      const int64_t part = std::min(kChunk, k_ - k);
      std::memcpy(to + k, x_row_.read(x, k, part, stage), static_cast<size_t>(part) * sizeof(T));
    }
  }

  void give(const RunArgs& args, const T* y, int64_t begin, int64_t count) const {
    std::byte narrow[kPanel * sizeof(T)];
    narrow_(y, narrow, count);
    y_.scatter(narrow, begin, count, args.outputs[0]);
  }

  Matrices<T> matrices_;
  ChunkReader ids_;
  Walk x_rows_;
  ChunkReader x_row_;
  Walk y_;
  ConvertFn narrow_;
  int64_t count_, k_, n_, rows_;
};

}  // namespace

Prepared prepare_matmul_id(const NodeView& node) {
  check_signature(node, 3, 3, 1);
  const TensorView x = node.input(0), w = node.input(1), ids = node.input(2), y = node.output(0);
  check_index_type(ids);
  check_type(x, is_float(x.dtype()), "a float type");
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  const bool blocks = is_block(w.dtype());
  check_type(w, blocks ? x.dtype() != BP_TYPE_F64 : w.dtype() == x.dtype(), "the type of input 0; blocks go with f32");
  require(x.rank() >= 1 && w.rank() == 3, "rows, and matrices in three axes");
  check_blocks(w);
  require(w.shape()[blocks ? 2 : 1] == x.shape().back(), "the inputs differ in the summed axis");
  require(x.rank() <= ids.rank() + 1, "x has more axes than the ids");
  for (uint32_t axis = 0; axis + 1 < x.rank(); ++axis) {
    const int64_t extent = x.shape()[axis];
    require(extent == 1 || extent == ids.shape()[ids.rank() + 1 - x.rank() + axis], "x does not broadcast to the ids");
  }
  std::vector<int64_t> shape(ids.shape().begin(), ids.shape().end());
  shape.push_back(w.shape()[blocks ? 1 : 2]);
  check_shape(y, shape);
  if (x.dtype() == BP_TYPE_F64) return {std::make_unique<MatmulIdKernel<double>>(node), {}, 0};
  return {std::make_unique<MatmulIdKernel<float>>(node), {}, 0};
}

}  // namespace backplane_cpu
