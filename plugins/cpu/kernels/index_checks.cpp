#include "kernels/index_checks.hpp"

namespace backplane_cpu {

void check_index_type(const TensorView& indices) {
  check_type(indices, indices.dtype() == BP_TYPE_I32 || indices.dtype() == BP_TYPE_I64, "i32 or i64 indices");
}

void check_moves(const NodeView& node) {
  const TensorView x = node.input(0), y = node.output(0);
  check_type(x, element_bytes(x.dtype()) != 0, "a plain type");
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
}

uint32_t check_element_indices(const NodeView& node) {
  const TensorView x = node.input(0), indices = node.input(1);
  check_index_type(indices);
  const int64_t axis = node.i64(BP_ATTR_AXIS, 0);
  require(axis >= 0 && axis < x.rank(), "axis must be an axis of input 0");
  require(indices.rank() == x.rank(), "the indices must have the rank of input 0");
  for (uint32_t other = 0; other < x.rank(); ++other)
    require(other == axis || indices.shape()[other] <= x.shape()[other],
            "the indices must not be longer than input 0 along the other axes");
  return static_cast<uint32_t>(axis);
}

std::vector<int64_t> check_tuples(const NodeView& node, int64_t batch_dims) {
  const TensorView x = node.input(0), indices = node.input(1);
  check_index_type(indices);
  require(batch_dims >= 0 && batch_dims < x.rank() && batch_dims < indices.rank(),
          "batch_dims must leave an axis of either input");
  require(same_shape(x.shape().first(batch_dims), indices.shape().first(batch_dims)),
          "the inputs must agree in the batch axes");
  const int64_t length = indices.shape().back();
  require(length >= 1 && length <= x.rank() - batch_dims, "a tuple must index at least one axis, and no more than are");
  std::vector<int64_t> shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), x.shape().begin() + batch_dims + length, x.shape().end());
  return shape;
}

}  // namespace backplane_cpu
