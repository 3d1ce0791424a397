// Random nodes of the normalisations and the softmax family.
#include "families.hpp"

namespace backplane::testing {
namespace {

void add_epsilon(NodeCase& node) {
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_EPSILON, node.random.pick<double>({1e-5, 1e-3, 0.1}));
}

// A spread of nearly nothing is divided by sqrt(epsilon), and what rounding left of it grows 316-fold.
Tolerance norm_tolerance(DType dtype, Values values) {
  return {.ulps = 8, .absolute = epsilon_of(dtype) * (values == Values::offset ? 1 << 14 : 1 << 13)};
}

Values norm_values(Random& random) { return random.chance(20) ? Values::offset : mostly_moderate(random); }

void channel_norm(NodeCase& node, const Shape& shape, int parameters) {
  const DType dtype = node.type(kFloats);
  const Values values = norm_values(node.random);
  node.operand(dtype, shape, values);
  for (int i = 0; i < parameters; ++i) node.operand(dtype, {shape[1]}, i == 3 ? Values::positive : Values::moderate);
  add_epsilon(node);
  node.tolerance = norm_tolerance(dtype, values);
}

void make_batch_norm(NodeCase& node) { channel_norm(node, node.random.shape(2, 5), 4); }
void make_instance_norm(NodeCase& node) { channel_norm(node, node.random.shape(3, 5), 2); }

void make_group_norm(NodeCase& node) {
  Shape shape = node.random.shape(2, 5);
  const int64_t groups = node.random.between(1, 4);
  shape[1] = groups * node.random.between(1, 3);
  node.attrs.set(BP_ATTR_NUM_GROUPS, groups);
  channel_norm(node, shape, 2);
}

void make_axis_norm(NodeCase& node) {
  const Shape shape = node.random.shape(1, 5);
  const DType dtype = node.type(kFloats);
  const Values values = norm_values(node.random);
  const int64_t axis = node.random.between(0, static_cast<int64_t>(shape.size()) - 1);
  const Shape normalized(shape.begin() + axis, shape.end());
  node.attrs.set(BP_ATTR_AXIS, axis);
  node.operand(dtype, shape, values);
  const auto parameter_shape = [&] {
    return node.random.chance(80) ? normalized : node.random.chance(50) ? shape : Shape{shape.back()};
  };
  node.operand(dtype, parameter_shape(), Values::moderate);
  if (node.op() == Op::kLAYER_NORM && node.random.chance(60)) node.operand(dtype, parameter_shape(), Values::moderate);
  add_epsilon(node);
  node.tolerance = norm_tolerance(dtype, values);
}

void make_softmax(NodeCase& node) {
  const Shape shape = node.random.shape(1, 5);
  node.operand(node.type(kFloats), shape,
               node.op() == Op::kHARDMAX ? Values::any
               : node.random.chance(20)  ? Values::offset
                                         : mostly_moderate(node.random));
  node.attrs.set(BP_ATTR_AXIS, node.random.between(0, static_cast<int64_t>(shape.size()) - 1));
  if (node.op() == Op::kSOFTMAX) node.tolerance = {.ulps = 64};
  if (node.op() == Op::kLOG_SOFTMAX) node.tolerance = {.ulps = 8, .absolute = 64 * epsilon_of(node.first_type())};
}

}  // namespace

std::span<const OpUnderTest> norm_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kBATCH_NORM, DType::kF32, make_batch_norm}, {Op::kINSTANCE_NORM, DType::kF32, make_instance_norm},
      {Op::kGROUP_NORM, DType::kF32, make_group_norm}, {Op::kLAYER_NORM, DType::kF32, make_axis_norm},
      {Op::kRMS_NORM, DType::kF32, make_axis_norm},    {Op::kSOFTMAX, DType::kF32, make_softmax},
      {Op::kLOG_SOFTMAX, DType::kF32, make_softmax},   {Op::kHARDMAX, DType::kF32, make_softmax},
  };
  return kOps;
}

}  // namespace backplane::testing
