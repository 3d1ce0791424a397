// Random nodes of the reductions.
#include <algorithm>

#include "families.hpp"

namespace backplane::testing {
namespace {

// Adds input and attributes and gives the number of elements that become one.
int64_t reduce(NodeCase& node, std::span<const DType> types, Values values) {
  const Shape shape = node.random.shape(0, 5);
  node.operand(node.type(types), shape, values);
  const std::vector<int64_t> axes = random_axes(node.random, shape.size());
  if (!axes.empty() || node.random.chance(50)) node.attrs.set(BP_ATTR_AXES, axes);
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_KEEPDIMS, node.random.between(0, 1));
  int64_t group = 1;
  for (const int64_t axis : axes) group *= shape[static_cast<size_t>(axis)];
  return group;
}

// Sums of f64 are f64, in any order, the reference's too: each addition may round the whole sum.
double roundings(NodeCase& node, int64_t count) {
  return node.first_type() == DType::kF64 ? static_cast<double>(count) : 1;
}

// A sum of `count` terms of at most `most`, rounded a few times.
Tolerance sum_tolerance(NodeCase& node, int64_t count, double most) {
  return {.ulps = 4, .absolute = epsilon_of(node.first_type()) * static_cast<double>(count) * most};
}

void make_sum(NodeCase& node) {
  const int64_t count = reduce(node, kNums, mostly_moderate(node.random));
  node.tolerance = sum_tolerance(node, count, (node.op() == Op::kREDUCE_SUM_SQUARE ? 16 : 4) * roundings(node, count));
}

void make_integers(NodeCase& node) { reduce(node, kInts, Values::any); }

// Every second node is one of integers over their whole range: sums wrap.
void make_wrapping_sum(NodeCase& node) { node.random.chance(70) ? make_sum(node) : make_integers(node); }

void make_mean(NodeCase& node) {
  const int64_t count = reduce(node, kNums, mostly_moderate(node.random));
  node.tolerance = sum_tolerance(node, 1, 32 * roundings(node, count));
}

void make_extreme(NodeCase& node) {
  reduce(node, kAnyType, Values::any);
  node.tolerance.absolute = kAnyZero;
}

void make_prod(NodeCase& node) {
  const int64_t count = reduce(node, kNums, mostly_moderate(node.random));
  node.tolerance = {
      .ulps = 4, .absolute = 0x1p-140, .relative = epsilon_of(node.first_type()) * static_cast<double>(count)};
}

void make_l2(NodeCase& node) {
  const int64_t count = reduce(node, kNums, mostly_moderate(node.random));
  node.tolerance = {.ulps = 4, .relative = epsilon_of(node.first_type()) * static_cast<double>(count)};
}

void make_log_sum(NodeCase& node) {
  // Of positive elements: a sum near zero would leave nothing of the logarithm's precision.
  const int64_t count = reduce(node, kNums, Values::positive);
  node.tolerance = sum_tolerance(node, count, 1);
}

void make_log_sum_exp(NodeCase& node) {
  const int64_t count = reduce(node, kNums, mostly_moderate(node.random));
  node.tolerance = sum_tolerance(node, count, 8);
}

void make_arg(NodeCase& node) {
  Shape shape = node.random.shape(1, 5);
  const int64_t axis = node.random.between(0, std::ssize(shape) - 1);
  if (shape[static_cast<size_t>(axis)] == 0) shape[static_cast<size_t>(axis)] = 1;  // no element has an index
  node.operand(node.type(kNums), shape, node.random.chance(50) ? Values::any : Values::moderate);
  node.attrs.set(BP_ATTR_AXIS, axis);
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_KEEPDIMS, node.random.between(0, 1));
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_SELECT_LAST_INDEX, node.random.between(0, 1));
}

}  // namespace

std::span<const OpUnderTest> reduction_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kREDUCE_SUM, DType::kF32, make_wrapping_sum},
      {Op::kREDUCE_MEAN, DType::kF32, make_mean},
      {Op::kREDUCE_MAX, DType::kF32, make_extreme},
      {Op::kREDUCE_MIN, DType::kF32, make_extreme},
      {Op::kREDUCE_PROD, DType::kF32, make_prod},
      {Op::kREDUCE_L1, DType::kF32, make_wrapping_sum},
      {Op::kREDUCE_L2, DType::kF32, make_l2},
      {Op::kREDUCE_SUM_SQUARE, DType::kF32, make_wrapping_sum},
      {Op::kREDUCE_LOG_SUM, DType::kF32, make_log_sum},
      {Op::kREDUCE_LOG_SUM_EXP, DType::kF32, make_log_sum_exp},
      {Op::kARG_MAX, DType::kF32, make_arg},
      {Op::kARG_MIN, DType::kF32, make_arg},
  };
  return kOps;
}

}  // namespace backplane::testing
