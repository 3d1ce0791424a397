// copy, cast, concat, tile, reverse: elements moved unchanged from walks to walks; and cast, which converts on the way.

#include <vector>

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

// A part of the output that comes, element by element in logical order, from one input.
struct Piece {
  uint32_t input = 0;
  Walk from;
  Walk to;
  int64_t from_offset = 0;  // bytes
  int64_t to_offset = 0;
};

class MoveKernel final : public Kernel {
 public:
  explicit MoveKernel(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {
    for (const Piece& piece : pieces_) total_ += piece.to.count();
  }
  uint32_t max_workers() const override { return workers_for(total_); }
  void run(const RunArgs& args) const noexcept override {
    for (const Piece& piece : pieces_) {
      const Range range = share(piece.to.count(), kChunk, args.worker, args.workers);
      if (range.begin < range.end)
        copy_elements(piece.from, args.inputs[piece.input] + piece.from_offset, piece.to,
                      args.outputs[0] + piece.to_offset, range.begin, range.end);
    }
  }

 private:
  std::vector<Piece> pieces_;
  int64_t total_ = 0;
};

class CastKernel final : public Kernel {
 public:
  CastKernel(const TensorView& x, const TensorView& y)
      : input_(x), output_(y), narrow_(narrow_function(compute_of(x.dtype()), y.dtype())) {
    check_type(y, narrow_ != nullptr, "a plain type");
  }
  uint32_t max_workers() const override { return workers_for(output_.count()); }
  void run(const RunArgs& args) const noexcept override {
    const Range range = share(output_.count(), kChunk * 8, args.worker, args.workers);
    alignas(64) std::byte wide[kChunk * 8];
    alignas(64) std::byte narrow[kChunk * 8];
    for (int64_t at = range.begin; at < range.end; at += kChunk) {
      const int64_t count = std::min(kChunk, range.end - at);
      const void* source = input_.read(args.inputs[0], at, count, wide);
      if (output_.dense()) {
        narrow_(source, args.outputs[0] + at * static_cast<int64_t>(output_.element()), count);
      } else {
        narrow_(source, narrow, count);
        output_.scatter(narrow, at, count, args.outputs[0]);
      }
    }
  }

 private:
  ChunkReader input_;
  Walk output_;
  ConvertFn narrow_;
};

void check_same_type(const NodeView& node) {
  const TensorView x = node.input(0), y = node.output(0);
  check_type(x, element_bytes(x.dtype()) != 0, "a plain type");
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
}

Prepared make_move(std::vector<Piece> pieces) { return {std::make_unique<MoveKernel>(std::move(pieces)), {}, 0}; }

}  // namespace

Prepared prepare_copy(const NodeView& node) {
  const bool cast = node.op() == BP_OP_CAST;
  check_signature(node, 1, 1, 1, {cast ? uint32_t{BP_ATTR_TO} : 0u});
  const TensorView x = node.input(0), y = node.output(0);
  check_shape(y, x.shape());
  if (cast) require(node.i64(BP_ATTR_TO, y.dtype()) == y.dtype(), "attribute `to` must be the output's type");
  if (cast && x.dtype() != y.dtype()) return {std::make_unique<CastKernel>(x, y), {}, 0};
  check_same_type(node);
  return make_move({{0, Walk(x), Walk(y)}});
}

Prepared prepare_concat(const NodeView& node) {
  check_signature(node, 1, UINT32_MAX, 1, {BP_ATTR_AXIS});
  check_same_type(node);
  const TensorView y = node.output(0);
  const int64_t axis = node.i64(BP_ATTR_AXIS, -1);
  require(axis >= 0 && axis < y.rank(), "concat needs an axis of its output");
  std::vector<int64_t> wanted(y.shape().begin(), y.shape().end());
  std::vector<Piece> pieces;
  int64_t start = 0;
  for (uint32_t i = 0; i < node.input_count(); ++i) {
    require(node.has_input(i), "an input of concat is absent");
    const TensorView x = node.input(i);
    check_type(x, x.dtype() == y.dtype(), "the output's type");
    require(x.rank() == y.rank(), "the inputs of concat must have the output's rank");
    wanted[axis] = x.shape()[axis];
    check_shape(x, wanted);
    const Walk target(x.shape(), y.strides(), element_bytes(y.dtype()));
    pieces.push_back({i, Walk(x), target, 0, start * y.strides()[axis]});
    start += x.shape()[axis];
  }
  require(start == y.shape()[axis], "the extents of concat's inputs must add up to the output's");
  return make_move(std::move(pieces));
}

Prepared prepare_tile(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_REPEATS});
  check_same_type(node);
  const TensorView x = node.input(0), y = node.output(0);
  const std::span<const int64_t> repeats = node.i64s(BP_ATTR_REPEATS);
  require(repeats.size() == x.rank() && y.rank() == x.rank(), "tile needs one repeat per axis");
  std::vector<int64_t> shape, from, to;  // every axis as (repeat, extent)
  for (uint32_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t extent = x.shape()[axis];
    int64_t tiled = 0;
    require(repeats[axis] >= 0 && !__builtin_mul_overflow(extent, repeats[axis], &tiled) && tiled == y.shape()[axis],
            "an extent of the output must be the input's times the repeat");
    shape.insert(shape.end(), {repeats[axis], extent});
    from.insert(from.end(), {0, x.strides()[axis]});
    to.insert(to.end(), {extent * y.strides()[axis], y.strides()[axis]});
  }
  const size_t element = element_bytes(x.dtype());
  return make_move({{0, Walk(shape, from, element), Walk(shape, to, element)}});
}

Prepared prepare_reverse(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_AXES});
  check_same_type(node);
  const TensorView x = node.input(0), y = node.output(0);
  check_shape(y, x.shape());
  std::vector<int64_t> strides(x.strides().begin(), x.strides().end());
  int64_t start = 0;
  std::vector<bool> reversed(x.rank(), false);
  for (const int64_t axis : node.i64s(BP_ATTR_AXES)) {
    require(axis >= 0 && axis < x.rank() && !reversed[axis], "the axes of reverse must be distinct axes of the input");
    reversed[axis] = true;
    if (x.shape()[axis] > 1) start += (x.shape()[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  return make_move({{0, Walk(x.shape(), strides, element_bytes(x.dtype())), Walk(y), start, 0}});
}

}  // namespace backplane_cpu
