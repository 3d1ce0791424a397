// Ops that rearrange: views where possible, concat and tile.
#include <algorithm>
#include <numeric>

#include "backplane/base/text.hpp"
#include "backplane/graph/inference.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// 0 copies an extent (unless allowed to mean 0), one -1 takes what is left.
Result<Shape> resolved(Shape wanted, const Shape& from, bool allow_zero) {
  ptrdiff_t open = -1;
  for (size_t at = 0; at < wanted.size(); ++at) {
    if (wanted[at] == -1) {
      if (open >= 0) return invalid_argument(cat("shape ", shape_text(wanted), " has more than one -1"));
      open = static_cast<ptrdiff_t>(at);
    } else if (wanted[at] == 0 && !allow_zero) {
      if (at >= from.size())
        return invalid_argument(
            cat("shape ", shape_text(wanted), " copies axis ", at, ", which ", shape_text(from), " has not"));
      wanted[at] = from[at];
    }
  }
  if (open < 0) return wanted;
  wanted[static_cast<size_t>(open)] = 1;
  BP_TRY_ASSIGN(const int64_t known, element_count(wanted));
  BP_TRY_ASSIGN(const int64_t all, element_count(from));
  if (known == 0 || all % known != 0) {
    return invalid_argument(cat(shape_text(from), " has ", all, " elements, which is no multiple of the ", known,
                                " of the wanted shape's known part"));
  }
  wanted[static_cast<size_t>(open)] = all / known;
  return wanted;
}

Status reshape(NodeContext& c) {
  BP_TRY_ASSIGN(Shape wanted, c.in_i64s(1));
  BP_TRY_ASSIGN(const Shape shape, resolved(std::move(wanted), c.emit.shape(c.in(0)), c.i64("allowzero", 0) != 0));
  return c.set(0, c.emit.reshape(c.in(0), shape));
}

Status flatten(NodeContext& c) {
  const Shape from = c.emit.shape(c.in(0));
  const auto rank = static_cast<int64_t>(from.size());
  int64_t axis = c.i64("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return invalid_argument(cat("axis ", axis, " is outside ", shape_text(from)));
  const auto at = static_cast<size_t>(axis);
  BP_TRY_ASSIGN(const int64_t rows, element_count(std::span(from).first(at)));
  BP_TRY_ASSIGN(const int64_t columns, element_count(std::span(from).subspan(at)));
  const int64_t shape[] = {rows, columns};
  return c.set(0, c.emit.reshape(c.in(0), shape));
}

Status squeeze(NodeContext& c) {
  const Shape from = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(Shape axes, c.list("axes", 1, 13));
  BP_TRY_ASSIGN(axes, NodeContext::axes_of(std::move(axes), static_cast<int64_t>(from.size())));
  const bool all = c.opset() >= 13 ? !c.has(1) : !c.has_attr("axes");
  Shape shape;
  for (size_t at = 0; at < from.size(); ++at) {
    const bool named = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(at));
    if (named && from[at] != 1) {
      return invalid_argument(cat("axis ", at, " of ", shape_text(from), " cannot be squeezed: its extent is not 1"));
    }
    if (!named && !(all && from[at] == 1)) shape.push_back(from[at]);
  }
  return c.set(0, c.emit.reshape(c.in(0), shape));
}

Status unsqueeze(NodeContext& c) {
  const Shape from = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(Shape axes, c.list("axes", 1, 13));
  const int64_t rank = static_cast<int64_t>(from.size() + axes.size());
  BP_TRY_ASSIGN(axes, NodeContext::axes_of(std::move(axes), rank));
  Shape shape = from;
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, 1);  // ascending
  return c.set(0, c.emit.reshape(c.in(0), shape));
}

Status transpose(NodeContext& c) {
  Shape order = c.i64s("perm");
  if (!c.has_attr("perm")) {
    order.resize(static_cast<size_t>(c.emit.rank(c.in(0))));
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return c.set(0, c.emit.permute(c.in(0), order));
}

Status expand(NodeContext& c) {
  BP_TRY_ASSIGN(const Shape wanted, c.in_i64s(1));
  BP_TRY_ASSIGN(const Shape shape, broadcast_shapes(c.emit.shape(c.in(0)), wanted));
  return c.set(0, c.emit.broadcast(c.in(0), shape));
}

Status tile(NodeContext& c) {
  BP_TRY_ASSIGN(const Shape repeats, c.in_i64s(1));
  if (static_cast<int64_t>(repeats.size()) != c.emit.rank(c.in(0))) {
    return invalid_argument(cat("repeats ", shape_text(repeats), " must have one entry for each axis of ",
                                c.emit.builder().tensor_text(c.in(0))));
  }
  return c.set(0, c.emit.op(Op::kTILE, {c.in(0)}, {{BP_ATTR_REPEATS, repeats}}));
}

Status concat(NodeContext& c) {
  if (!c.has_attr("axis")) return invalid_argument("attribute 'axis' is absent");
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), c.emit.rank(c.in(0))));
  return c.set(0, c.emit.op(Op::kCONCAT, c.inputs(), {{BP_ATTR_AXIS, axis}}));
}

// Given lengths, or equal ones; newer opsets let the last be shorter.
Result<Shape> split_lengths(NodeContext& c, int64_t extent) {
  BP_TRY_ASSIGN(Shape lengths, c.list("split", 1, 13));
  if (lengths.empty()) {
    const auto parts = c.i64("num_outputs", static_cast<int64_t>(c.outputs().size()));
    if (parts < 1 || (c.opset() < 18 && extent % parts != 0)) {
      return invalid_argument(cat("an extent of ", extent, " cannot be split into ", parts, " equal parts"));
    }
    const int64_t length = (extent + parts - 1) / parts;
    for (int64_t rest = extent; static_cast<int64_t>(lengths.size()) < parts; rest -= lengths.back()) {
      lengths.push_back(std::min(length, rest));
    }
  }
  int64_t sum = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > extent - sum) sum = extent + 1;
    if (sum > extent) break;
    sum += length;
  }
  if (sum != extent || lengths.size() < c.outputs().size()) {
    return invalid_argument(cat("lengths ", shape_text(lengths), " do not split an extent of ", extent, " into ",
                                c.outputs().size(), " outputs"));
  }
  return lengths;
}

Status split(NodeContext& c) {
  const Shape from = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 0), static_cast<int64_t>(from.size())));
  BP_TRY_ASSIGN(const Shape lengths, split_lengths(c, from[static_cast<size_t>(axis)]));
  int64_t start = 0;
  for (size_t at = 0; at < c.outputs().size(); ++at) {
    BP_TRY(c.set(at, c.emit.slice(c.in(0), axis, start, lengths[at])));
    start += lengths[at];
  }
  return ok_status();
}

// Checks [N, C, H, W] and a block size.
Result<int64_t> block_of(NodeContext& c, const Shape& x) {
  const int64_t block = c.i64("blocksize", 0);
  if (x.size() != 4 || block < 1) {
    return invalid_argument(
        cat("it needs a [N, C, H, W] input and a positive blocksize, found ", shape_text(x), " and ", block));
  }
  return block;
}

Status depth_to_space(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const int64_t b, block_of(c, x));
  if (x[1] % (b * b) != 0) return invalid_argument(cat("channels of ", shape_text(x), " are no multiple of ", b * b));
  const int64_t depth = x[1] / (b * b);
  const bool crd = c.text("mode", "DCR") == "CRD";
  const Shape split = crd ? Shape{x[0], depth, b, b, x[2], x[3]} : Shape{x[0], b, b, depth, x[2], x[3]};
  const Shape order = crd ? Shape{0, 1, 4, 2, 5, 3} : Shape{0, 3, 4, 1, 5, 2};
  const int64_t merged[] = {x[0], depth, x[2] * b, x[3] * b};
  BP_TRY_ASSIGN(const TensorId parts, c.emit.reshape(c.in(0), split));
  BP_TRY_ASSIGN(const TensorId permuted, c.emit.permute(parts, order));
  return c.set(0, c.emit.reshape(permuted, merged));
}

Status space_to_depth(NodeContext& c) {
  const Shape x = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const int64_t b, block_of(c, x));
  if (x[2] % b != 0 || x[3] % b != 0) {
    return invalid_argument(cat("height and width of ", shape_text(x), " must be multiples of ", b));
  }
  const int64_t split[] = {x[0], x[1], x[2] / b, b, x[3] / b, b};
  const int64_t order[] = {0, 3, 5, 1, 2, 4};
  const int64_t merged[] = {x[0], x[1] * b * b, x[2] / b, x[3] / b};
  BP_TRY_ASSIGN(const TensorId parts, c.emit.reshape(c.in(0), split));
  BP_TRY_ASSIGN(const TensorId permuted, c.emit.permute(parts, order));
  return c.set(0, c.emit.reshape(permuted, merged));
}

}  // namespace

std::span<const Lowering> shape_lowerings() {
  static constexpr Lowering kRows[] = {
      Lowering{"Reshape", 5, 2, reshape}.taking(Takes::first_text),
      Lowering{"Flatten", 1, 1, flatten}.taking(Takes::first_text),
      Lowering{"Squeeze", 1, 1, squeeze}.taking(Takes::first_text),
      Lowering{"Unsqueeze", 1, 1, unsqueeze}.taking(Takes::first_text),
      Lowering{"Transpose", 1, 1, transpose}.taking(Takes::first_text),
      Lowering{"Expand", 8, 2, expand}.taking(Takes::first_text),
      Lowering{"Tile", 6, 2, tile}.taking(Takes::first_text),
      Lowering{"Concat", 4, 1, concat}.taking(Takes::all_text),
      Lowering{"Split", 2, 1, split}.taking(Takes::first_text),
      {"DepthToSpace", 1, 1, depth_to_space},
      {"SpaceToDepth", 1, 1, space_to_depth},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
