// Random nodes of quantisation and of products of quantised tensors.
#include "families.hpp"

namespace backplane::testing {
namespace {

constexpr DType kBytes[] = {DType::kU8, DType::kI8};
constexpr DType kQuantised[] = {DType::kU8, DType::kI8, DType::kU16, DType::kI16};
constexpr DType kStored[] = {DType::kU8, DType::kI8, DType::kU16, DType::kI16, DType::kI32};

// A shape that broadcasts to `shape`: a scalar, or some extents 1.
Shape parameter_shape(Random& random, const Shape& shape) {
  if (random.chance(30)) return {};
  Shape narrow = shape;
  for (int64_t& extent : narrow)
    if (random.chance(60)) extent = 1;
  return narrow;
}

void make_quantize(NodeCase& node) {
  const Shape shape = node.random.shape(0, 4);
  const DType dtype = node.type(kFloats), to = node.type(kQuantised);
  node.operand(dtype, shape, node.random.chance(20) ? Values::any : mostly_moderate(node.random));
  node.operand(dtype, parameter_shape(node.random, shape), Values::positive);
  if (node.random.chance(70)) node.operand(to, parameter_shape(node.random, shape), Values::any);
  if (to != DType::kU8 || node.random.chance(50)) node.attrs.set(BP_ATTR_TO, static_cast<int64_t>(to));
}

void make_dequantize(NodeCase& node) {
  const Shape shape = node.random.shape(0, 4);
  const DType dtype = node.type(kStored);
  node.operand(dtype, shape, Values::any);
  node.operand(node.type(kFloats), parameter_shape(node.random, shape), Values::positive);
  if (node.random.chance(70)) node.operand(dtype, parameter_shape(node.random, shape), Values::any);
}

void make_dynamic_quantize(NodeCase& node) {
  node.operand(DType::kF32, node.random.shape(0, 4), mostly_moderate(node.random));
  node.wanted = node.random.pick<std::vector<uint8_t>>({{1, 1, 1}, {1, 0, 0}, {0, 1, 1}});
}

void add_zero_points(NodeCase& node, DType a, const Shape& a_zero, DType b, const Shape& b_zero) {
  const bool has_a = node.random.chance(70), has_b = node.random.chance(70);
  if (has_a) node.operand(a, node.random.chance(50) ? Shape{} : a_zero, Values::any);
  if (has_b && !has_a) node.absent();
  if (has_b) node.operand(b, node.random.chance(50) ? Shape{} : b_zero, Values::any);
}

void make_matmul_integer(NodeCase& node) {
  Random& random = node.random;
  const int64_t m = random.between(1, 9), k = random.between(0, 40), n = random.between(1, 20);
  const DType a = node.type(kBytes), b = node.type(kBytes);
  const Shape batch = random.chance(30) ? Shape{random.between(1, 3)} : Shape{};
  Shape a_shape = batch, b_shape = random.chance(50) ? batch : Shape{};
  a_shape.insert(a_shape.end(), {m, k});
  b_shape.insert(b_shape.end(), {k, n});
  node.operand(a, a_shape, Values::any);
  node.operand(b, b_shape, Values::any);
  add_zero_points(node, a, {m, 1}, b, {n});
}

void make_conv_integer(NodeCase& node) {
  Random& random = node.random;
  const auto rank = static_cast<size_t>(random.between(1, 3));
  const int64_t group = random.between(1, 2), in = random.between(1, 3), out = random.between(1, 3) * group;
  Shape x = {random.between(1, 2), in * group}, w = {out, in}, w_zero = {out, 1};
  for (size_t axis = 0; axis < rank; ++axis) {
    x.push_back(random.between(4, 8));
    w.push_back(random.between(1, 3));
    w_zero.push_back(1);
  }
  const DType x_type = node.type(kBytes), w_type = node.type(kBytes);
  node.operand(x_type, x, Values::any);
  node.operand(w_type, w, Values::any);
  add_zero_points(node, x_type, {1}, w_type, w_zero);
  node.attrs.set(BP_ATTR_GROUP, group);
  if (random.chance(60)) node.attrs.set(BP_ATTR_PADS, random_list(random, 2 * rank, 0, 2));
  if (random.chance(40)) node.attrs.set(BP_ATTR_STRIDES, random_list(random, rank, 1, 2));
}

}  // namespace

std::span<const OpUnderTest> quantize_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kQUANTIZE_LINEAR, DType::kF32, make_quantize},
      {Op::kDEQUANTIZE_LINEAR, DType::kU8, make_dequantize},
      {Op::kDYNAMIC_QUANTIZE_LINEAR, DType::kF32, make_dynamic_quantize},
      {Op::kMATMUL_INTEGER, DType::kU8, make_matmul_integer},
      {Op::kCONV_INTEGER, DType::kU8, make_conv_integer},
  };
  return kOps;
}

}  // namespace backplane::testing
