// Opsets 1 to 6, where they differ from later ones: broadcasting was asked for, in one direction, and what became
// inputs was attributes.
#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

// Input 1 with the axes that line it up with input 0: `axis` is where its first axis stands, the last ones if absent.
Result<TensorId> aligned(NodeContext& c) {
  const Shape a = c.emit.shape(c.in(0));
  Shape b = c.emit.shape(c.in(1));
  if (c.i64("broadcast", 0) == 0) {
    if (a == b) return c.in(1);
    return invalid_argument(
        cat("shapes ", shape_text(a), " and ", shape_text(b), " differ, and attribute 'broadcast' is not set"));
  }
  const auto rank = static_cast<int64_t>(a.size()), given = static_cast<int64_t>(b.size());
  int64_t axis = c.i64("axis", rank - given);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis + given > rank) {
    return invalid_argument(cat(shape_text(b), " does not fit into ", shape_text(a), " at axis ", axis));
  }
  b.resize(static_cast<size_t>(rank - axis), 1);
  return c.emit.reshape(c.in(1), b);
}

Status binary(NodeContext& c) {
  BP_TRY_ASSIGN(const TensorId b, aligned(c));
  BP_TRY_ASSIGN(const TensorId y, c.emit.op(c.op(), {c.in(0), b}));
  if (c.emit.shape(y) == c.emit.shape(c.in(0))) return c.set(0, y);
  return invalid_argument(cat("input 1 does not broadcast to input 0, ", c.emit.builder().tensor_text(c.in(0))));
}

// A slope for each channel stands at axis 1.
Status prelu(NodeContext& c) {
  Shape slope = c.emit.shape(c.in(1));
  TensorId slopes = c.in(1);
  if (slope.size() == 1 && slope[0] != 1 && c.emit.rank(c.in(0)) > 2) {
    slope.resize(static_cast<size_t>(c.emit.rank(c.in(0)) - 1), 1);
    BP_TRY_ASSIGN(slopes, c.emit.reshape(slopes, slope));
  }
  return c.set(0, c.emit.op(Op::kPRELU, {c.in(0), slopes}));
}

Status batch_norm(NodeContext& c) {
  if (c.i64("is_test", 0) == 0) return unimplemented("it is in training mode: is_test is not set");
  if (c.i64("spatial", 1) != 1) return unimplemented("only spatial = 1 is supported");
  return c.set(0, c.emit.op(Op::kBATCH_NORM, {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)},
                            {{BP_ATTR_EPSILON, c.f64("epsilon", 1e-5f)}}));
}

Status concat(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t axis, NodeContext::axis_of(c.i64("axis", 1), c.emit.rank(c.in(0))));
  return c.set(0, c.emit.op(Op::kCONCAT, c.inputs(), {{BP_ATTR_AXIS, axis}}));
}

}  // namespace

std::span<const Lowering> legacy_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Add", 1, 2, binary, Op::kADD, 6},
      {"Sub", 1, 2, binary, Op::kSUB, 6},
      {"Mul", 1, 2, binary, Op::kMUL, 6},
      {"Div", 1, 2, binary, Op::kDIV, 6},
      {"Pow", 1, 2, binary, Op::kPOW, 6},
      {"And", 1, 2, binary, Op::kAND, 6},
      {"Or", 1, 2, binary, Op::kOR, 6},
      {"Xor", 1, 2, binary, Op::kXOR, 6},
      {"Equal", 1, 2, binary, Op::kEQ, 6},
      {"Less", 1, 2, binary, Op::kLT, 6},
      {"Greater", 1, 2, binary, Op::kGT, 6},
      {"PRelu", 1, 2, prelu, Op::kPRELU, 6},
      {"BatchNormalization", 1, 5, batch_norm, Op::kBATCH_NORM, 6},
      {"Concat", 1, 1, concat, Op::kCONCAT, 3},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
