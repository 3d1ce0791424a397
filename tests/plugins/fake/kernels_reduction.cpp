// reduce_sum and matmul: f32 accumulates in double, in row-major order; integers wrap.
#include <algorithm>

#include "kernels.hpp"

namespace fake {
namespace {

constexpr uint32_t kReduceAttrs[] = {BP_ATTR_AXES, BP_ATTR_KEEPDIMS};

template <class T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

// Marks the reduced axes: those of `axes`, or all if there are none.
std::vector<bool> reduced_axes(const NodeView& node, size_t rank) {
  const std::span<const int64_t> axes = node.i64s(BP_ATTR_AXES);
  std::vector<bool> reduced(rank, axes.empty());
  for (const int64_t axis : axes)
    if (axis >= 0 && axis < static_cast<int64_t>(rank)) reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

std::string refuse_reduce(const NodeView& node) {
  if (std::string why = refuse_form(node, 1, kReduceAttrs); !why.empty()) return why;
  const auto in = node.input(0), out = node.output(0);
  if (!arithmetic(in.dtype()) || in.dtype() != out.dtype()) return refuse_type(in.dtype());
  for (const int64_t axis : node.i64s(BP_ATTR_AXES))
    if (axis < 0 || axis >= int64_t{in.rank()}) return "an axis is out of range";
  const std::vector<bool> reduced = reduced_axes(node, in.rank());
  std::vector<int64_t> wanted;
  for (uint32_t axis = 0; axis < in.rank(); ++axis)
    if (!reduced[axis])
      wanted.push_back(in.shape()[axis]);
    else if (node.i64(BP_ATTR_KEEPDIMS, 1) != 0)
      wanted.push_back(1);
  return equal(wanted, out.shape()) ? "" : "the output has a wrong shape";
}

// Input extents and strides of the kept and the reduced axes, and the output's strides of the kept ones.
struct ReducePlan {
  std::vector<int64_t> kept_shape, kept_in, kept_out, reduced_shape, reduced_in;
};

ReducePlan plan_reduce(const NodeView& node, const Operand& in, const Operand& out) {
  const std::vector<bool> reduced = reduced_axes(node, in.shape.size());
  const bool keepdims = node.i64(BP_ATTR_KEEPDIMS, 1) != 0;
  ReducePlan plan;
  size_t out_axis = 0;
  for (size_t axis = 0; axis < in.shape.size(); ++axis) {
    if (reduced[axis]) {
      plan.reduced_shape.push_back(in.shape[axis]);
      plan.reduced_in.push_back(in.strides[axis]);
      out_axis += keepdims ? 1 : 0;
    } else {
      plan.kept_shape.push_back(in.shape[axis]);
      plan.kept_in.push_back(in.strides[axis]);
      plan.kept_out.push_back(out.strides[out_axis++]);
    }
  }
  return plan;
}

void run_reduce_sum(const NodeView& node, Operands in, Operands out) {
  const ReducePlan plan = plan_reduce(node, in[0], out[0]);
  const std::vector<int64_t> outer[] = {plan.kept_in, plan.kept_out}, inner[] = {plan.reduced_in};
  with_arithmetic(out[0].dtype, [&](auto type) {
    using T = decltype(type);
    for_each_offset(plan.kept_shape, outer, [&](std::span<const int64_t> at) {
      Accumulator<T> sum{};
      for_each_offset(plan.reduced_shape, inner, [&](std::span<const int64_t> from) {
        sum += static_cast<Accumulator<T>>(load<T>(in[0].data + at[0] + from[0]));
      });
      store<T>(out[0].data + at[1], static_cast<T>(sum));
    });
  });
}

std::string refuse_matmul(const NodeView& node) {
  if (std::string why = refuse_form(node, 2); !why.empty()) return why;
  const auto a = node.input(0), b = node.input(1), out = node.output(0);
  if (!arithmetic(out.dtype()) || a.dtype() != out.dtype() || b.dtype() != out.dtype()) return refuse_type(a.dtype());
  if (a.rank() < 2 || b.rank() < 2 || out.rank() < 2) return "an operand of matmul has fewer than 2 axes";
  const auto a_shape = a.shape(), b_shape = b.shape(), out_shape = out.shape();
  const size_t ar = a.rank(), br = b.rank(), cr = out.rank();
  if (a_shape[ar - 1] != b_shape[br - 2] || a_shape[ar - 2] != out_shape[cr - 2] ||
      b_shape[br - 1] != out_shape[cr - 1])
    return "the matrices do not fit together";
  const auto batch = out_shape.first(cr - 2);
  return broadcasts(a_shape.first(ar - 2), batch) && broadcasts(b_shape.first(br - 2), batch)
             ? ""
             : "the batches do not broadcast to the output";
}

// Strides of an operand whose last two axes are replaced by (rows, columns) of the output.
std::vector<int64_t> matmul_strides(const Operand& operand, std::span<const int64_t> shape, int64_t row,
                                    int64_t column) {
  const size_t batch = operand.shape.size() - 2;
  const Operand outer{nullptr, operand.dtype, operand.shape.first(batch), operand.strides.first(batch)};
  std::vector<int64_t> strides = broadcast_strides(outer, shape.first(shape.size() - 2));
  strides.push_back(row);
  strides.push_back(column);
  return strides;
}

void run_matmul(const NodeView&, Operands in, Operands out) {
  const Operand &a = in[0], &b = in[1], &c = out[0];
  const size_t ar = a.shape.size(), br = b.shape.size();
  const int64_t depth = a.shape[ar - 1], a_step = a.strides[ar - 1], b_step = b.strides[br - 2];
  const std::vector<int64_t> strides[] = {matmul_strides(a, c.shape, a.strides[ar - 2], 0),
                                          matmul_strides(b, c.shape, 0, b.strides[br - 1]),
                                          {c.strides.begin(), c.strides.end()}};
  with_arithmetic(c.dtype, [&](auto type) {
    using T = decltype(type);
    using Sum = Accumulator<T>;
    for_each_offset(c.shape, strides, [&](std::span<const int64_t> at) {
      Sum sum{};
      for (int64_t k = 0; k < depth; ++k)
        sum += static_cast<Sum>(load<T>(a.data + at[0] + k * a_step)) *
               static_cast<Sum>(load<T>(b.data + at[1] + k * b_step));
      store<T>(c.data + at[2], static_cast<T>(sum));
    });
  });
}

constexpr Kernel kReduceSum{"reduce_sum", refuse_reduce, run_reduce_sum, false};
constexpr Kernel kMatmul{"matmul", refuse_matmul, run_matmul, false};

}  // namespace

const Kernel* find_reduction(uint32_t op) {
  if (op == BP_OP_REDUCE_SUM) return &kReduceSum;
  if (op == BP_OP_MATMUL) return &kMatmul;
  return nullptr;
}

}  // namespace fake
