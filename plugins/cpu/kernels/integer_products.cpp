// matmul_integer and conv_integer: the zero points are subtracted while the operands are staged, as i32 for the kernel
// of matmul and as f64, which holds every sum, for that of conv.

#include "kernels/checks.hpp"
#include "kernels/families.hpp"
#include "kernels/staged.hpp"

namespace backplane_cpu {
namespace {

void check_operands(const NodeView& node) {
  for (const uint32_t i : {0u, 1u}) {
    const uint32_t dtype = node.input(i).dtype();
    check_type(node.input(i), dtype == BP_TYPE_U8 || dtype == BP_TYPE_I8, "u8 or i8");
    if (node.has_input(i + 2)) check_type(node.input(i + 2), node.input(i + 2).dtype() == dtype, "its operand's type");
  }
  check_type(node.output(0), node.output(0).dtype() == BP_TYPE_I32, "i32");
}

}  // namespace

Prepared prepare_matmul_integer(const NodeView& node) {
  check_signature(node, 2, 4, 1);
  check_operands(node);
  const Staging staging{BP_OP_MATMUL, {{BP_TYPE_I32, 2}, {BP_TYPE_I32, 3}}, {Staging::kAsIs}};
  return prepare_staged(node, staging, prepare_matmul);
}

Prepared prepare_conv_integer(const NodeView& node) {
  check_signature(node, 2, 4, 1, {BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS, BP_ATTR_GROUP});
  check_operands(node);
  // The products of one output, each below 2^16, must sum to what i32 holds, beyond which casting saturates.
  require(node.input(1).rank() > 0 && node.input(1).elements() / std::max<int64_t>(node.input(1).shape()[0], 1) < 32768,
          "fewer than 32768 products for each output");
  const Staging staging{BP_OP_CONV, {{BP_TYPE_F64, 2}, {BP_TYPE_F64, 3}}, {BP_TYPE_F64}};
  return prepare_staged(node, staging, prepare_conv);
}

}  // namespace backplane_cpu
