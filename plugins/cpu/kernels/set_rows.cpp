// set_rows: rows are cast to x's type, blocks included, and put where the indices say. Where output and x are the same
// memory (a state, or a tensor that nobody else reads) nothing else is touched.

#include <cstring>

#include "kernels/blocks.hpp"
#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"

namespace backplane_cpu {
namespace {

// Casts part of a row. Places and counts are in units: elements, or blocks of the target.
class RowCast {
 public:
  RowCast() = default;
  RowCast(const TensorView& from, const TensorView& to)
      : to_stride_(to.strides().back()), casts_(from.dtype() != to.dtype()) {
    const backplane::sdk::TypeLayout layout = backplane::sdk::type_layout(to.dtype());
    units_ = to.shape().back() / layout.block_elements;
    to_ = Walk({&units_, 1}, {&to_stride_, 1}, layout.block_bytes);
    if (!casts_) {
      from_ = Walk({&units_, 1}, {&from.strides().back(), 1}, layout.block_bytes);
      return;
    }
    unit_ = layout.block_elements;
    reader_ =
        ChunkReader(from.dtype(), Walk(from.shape().last(1), from.strides().last(1), element_bytes(from.dtype())));
    compute_ = compute_of(from.dtype());
    encode_ = encode_function(to.dtype());
    narrow_ = narrow_function(compute_, to.dtype());
  }
  int64_t units() const { return units_; }

  void operator()(const std::byte* from, std::byte* to, Range range) const {
    if (!casts_) return copy_elements(from_, from, to_, to, range.begin, range.end);
    alignas(64) std::byte stage[kChunk * 8];
    alignas(64) std::byte narrow[kChunk * 8];
    for (int64_t at = range.begin; at < range.end;) {
      const int64_t count = std::min(kChunk / unit_, range.end - at);
      const void* values = reader_.read(from, at * unit_, count * unit_, stage);
      if (encode_ != nullptr) {
        const size_t element = compute_ == Compute::kF64 ? sizeof(double) : sizeof(float);
        for (int64_t i = 0; i < count; ++i)
          encode_block(encode_, compute_,
                       static_cast<const std::byte*>(values) + static_cast<size_t>(i * unit_) * element, unit_,
                       to + (at + i) * to_stride_);
      } else {
        narrow_(values, narrow, count);
        to_.scatter(narrow, at, count, to);
      }
      at += count;
    }
  }

 private:
  int64_t units_ = 0, unit_ = 1, to_stride_ = 0;
  bool casts_ = false;
  Walk from_, to_;
  ChunkReader reader_;
  Compute compute_ = Compute::kNone;
  EncodeFn encode_ = nullptr;
  ConvertFn narrow_ = nullptr;
};

// Phase 0 copies x and looks at the indices, so that a bad one leaves a state as it was; phase 1 writes the rows. Rows
// of one matrix are written in order: workers share matrices and parts of a row.
class SetRowsKernel final : public Kernel {
 public:
  explicit SetRowsKernel(const NodeView& node)
      : x_(node.input(0)),
        y_(node.output(0)),
        indices_(node.input(2), node.input(1).shape().first(node.input(1).rank() - 1)),
        cast_(node.input(1), node.output(0)) {
    const TensorView x = node.input(0), rows = node.input(1), y = node.output(0);
    const uint32_t axis = x.rank() - 2;
    matrices_ = Walk(y.shape().first(axis), y.strides().first(axis), 1);
    rows_ = Walk(rows.shape().first(axis + 1), rows.strides().first(axis + 1), 1);
    extent_ = x.shape()[axis];
    count_ = rows.shape()[axis];
    row_stride_ = y.strides()[axis];
    same_layout_ = std::equal(x.strides().begin(), x.strides().end(), y.strides().begin());
    parts_ = (cast_.units() + kPart - 1) / kPart;
  }
  uint32_t phases() const override { return 2; }
  uint32_t max_workers() const override { return workers_for(rows_.count() * cast_.units() + x_.count() / 8); }

  void run(const RunArgs& args) const noexcept override {
    if (args.phase == 0) {
      if (!same_layout_ || args.inputs[0] != args.outputs[0]) copy(args);
      return check(args);
    }
    if (args.error->load() != nullptr) return;
    const Range range = share(rows_.count() == 0 ? 0 : matrices_.count() * parts_, 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) write(args, i / parts_, i % parts_ * kPart);
  }

 private:
  static constexpr int64_t kPart = 2048;  // units

  int64_t index(const RunArgs& args, int64_t row) const {
    alignas(64) std::byte stage[8];
    int64_t index = 0;
    std::memcpy(&index, indices_.read(args.inputs[2], row, 1, stage), sizeof index);
    return index < 0 ? index + extent_ : index;
  }

  void copy(const RunArgs& args) const {
    const Range range = share(y_.count(), kChunk, args.worker, args.workers);
    copy_elements(x_, args.inputs[0], y_, args.outputs[0], range.begin, range.end);
  }

  void check(const RunArgs& args) const {
    const Range range = share(cast_.units() == 0 ? 0 : rows_.count(), 64, args.worker, args.workers);
    for (int64_t row = range.begin; row < range.end; ++row)
      if (const int64_t at = index(args, row); at < 0 || at >= extent_) return args.error->store(kIndexOutside);
  }

  void write(const RunArgs& args, int64_t matrix, int64_t part) const {
    std::byte* to = args.outputs[0] + matrices_.position(matrix);
    const Range units{part, std::min(part + kPart, cast_.units())};
    for (int64_t row = matrix * count_; row < (matrix + 1) * count_; ++row)
      cast_(args.inputs[1] + rows_.position(row), to + index(args, row) * row_stride_, units);
  }

  Walk x_, y_, matrices_, rows_;
  ChunkReader indices_;
  RowCast cast_;
  int64_t extent_ = 0, count_ = 0, row_stride_ = 0, parts_ = 0;
  bool same_layout_ = false;
};

}  // namespace

Prepared prepare_set_rows(const NodeView& node) {
  check_signature(node, 3, 3, 1);
  const TensorView x = node.input(0), rows = node.input(1), y = node.output(0);
  check_index_type(node.input(2));
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  check_shape(y, x.shape());
  check_type(rows,
             rows.dtype() == x.dtype() || (is_float(rows.dtype()) && (is_float(x.dtype()) || is_block(x.dtype()))),
             "the type of input 0, or floats where that has a cast from them");
  require(x.rank() >= 2 && rows.rank() == x.rank(), "x and the rows want as many axes, 2 at least");
  check_blocks(x);
  std::vector<int64_t> wanted(x.shape().begin(), x.shape().end());
  wanted[x.rank() - 2] = rows.shape()[x.rank() - 2];
  check_shape(rows, wanted);
  return {std::make_unique<SetRowsKernel>(node), {}, 1};
}

}  // namespace backplane_cpu
