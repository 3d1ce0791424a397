#include <algorithm>
#include <optional>

#include "backplane/base/text.hpp"
#include "builder_state.hpp"
#include "view_layout.hpp"

namespace backplane {
namespace {

bool is_block_axis(DType dtype, size_t axis, size_t rank) { return !is_plain(dtype) && axis + 1 == rank; }

}  // namespace

Result<TensorId> GraphBuilder::reshape(TensorId x, std::span<const int64_t> shape) {
  BP_TRY(state_->check(x, "reshape"));
  const std::string what = cat("reshape of ", state_->text(x), " to ", shape_text(shape));
  const auto old_shape = state_->shape(x);
  if (std::equal(shape.begin(), shape.end(), old_shape.begin(), old_shape.end())) return x;
  auto bytes = dense_bytes(dtype(x), shape);
  if (!bytes.ok()) return bytes.status().with_context(what);
  if (element_count(shape).value() != element_count(old_shape).value())
    return invalid_argument(cat(what, ": the numbers of elements differ"));
  auto strides = reshape_strides(dtype(x), old_shape, state_->strides(x), shape);
  if (strides) return state_->add_view(x, shape, std::move(*strides), 0);
  BP_TRY_ASSIGN(const TensorId copy, op(Op::kCOPY, {x}));
  return state_->add_view(copy, shape, dense_strides(dtype(x), shape), 0);
}

Result<TensorId> GraphBuilder::permute(TensorId x, std::span<const int64_t> order) {
  BP_TRY(state_->check(x, "permute"));
  const auto old_shape = state_->shape(x);
  const auto old_strides = state_->strides(x);
  const std::string what = cat("permute of ", state_->text(x), " by ", shape_text(order));
  if (order.size() != old_shape.size()) return invalid_argument(cat(what, ": the order must have one entry an axis"));
  std::vector<int64_t> shape, strides;
  std::vector<bool> seen(order.size());
  for (size_t axis = 0; axis < order.size(); ++axis) {
    const int64_t from = order[axis];
    if (from < 0 || from >= static_cast<int64_t>(order.size()) || seen[from])
      return invalid_argument(cat(what, ": the order must name every axis once"));
    if (is_block_axis(dtype(x), axis, order.size()) && from != static_cast<int64_t>(axis))
      return invalid_argument(cat(what, ": the innermost axis of a block-quantised tensor must stay"));
    seen[from] = true;
    shape.push_back(old_shape[from]);
    strides.push_back(old_strides[from]);
  }
  if (std::is_sorted(order.begin(), order.end())) return x;
  return state_->add_view(x, shape, std::move(strides), 0);
}

Result<TensorId> GraphBuilder::slice(TensorId x, int64_t axis, int64_t start, int64_t count, int64_t step) {
  BP_TRY(state_->check(x, "slice"));
  std::vector<int64_t> shape = this->shape(x);
  std::vector<int64_t> strides(state_->strides(x).begin(), state_->strides(x).end());
  const std::string what =
      cat("slice of ", state_->text(x), " along axis ", axis, " from ", start, ", ", count, " elements, step ", step);
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
    return invalid_argument(cat(what, ": there is no such axis"));
  if (start < 0 || count < 0 || step < 1)
    return invalid_argument(cat(what, ": wanted start and count of at least 0 and step of at least 1"));
  const int64_t extent = shape[axis];
  const bool inside = count == 0 ? start <= extent : start < extent && count - 1 <= (extent - 1 - start) / step;
  if (!inside) return invalid_argument(cat(what, ": beyond the extent ", extent));
  if (start == 0 && count == extent && (step == 1 || count <= 1)) return x;
  int64_t units = start;  // in elements, or in blocks along the block axis
  if (is_block_axis(dtype(x), axis, shape.size())) {
    const int64_t block = type_layout(dtype(x)).block_elements;
    if (step != 1 || start % block != 0 || count % block != 0)
      return invalid_argument(cat(what, ": only whole blocks of ", block, " elements can be taken"));
    units = start / block;
  }
  const uint64_t skip = count == 0 ? 0 : static_cast<uint64_t>(units) * static_cast<uint64_t>(strides[axis]);
  shape[axis] = count;
  if (count > 1) strides[axis] *= step;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  return state_->add_view(x, shape, std::move(strides), empty ? 0 : skip);
}

Result<TensorId> GraphBuilder::broadcast(TensorId x, std::span<const int64_t> shape) {
  BP_TRY(state_->check(x, "broadcast"));
  const auto old_shape = state_->shape(x);
  const auto old_strides = state_->strides(x);
  const std::string what = cat("broadcast of ", state_->text(x), " to ", shape_text(shape));
  if (std::equal(shape.begin(), shape.end(), old_shape.begin(), old_shape.end())) return x;
  auto bytes = dense_bytes(dtype(x), shape);
  if (!bytes.ok()) return bytes.status().with_context(what);
  if (shape.size() < old_shape.size()) return invalid_argument(cat(what, ": the shape has too few axes"));
  const size_t added = shape.size() - old_shape.size();
  std::vector<int64_t> strides(shape.size(), 0);
  for (size_t axis = added; axis < shape.size(); ++axis) {
    const int64_t extent = old_shape[axis - added];
    if (extent == shape[axis])
      strides[axis] = old_strides[axis - added];
    else if (extent != 1)
      return invalid_argument(
          cat(what, ": axis ", axis - added, " has extent ", extent, ", which is neither 1 nor ", shape[axis]));
  }
  return state_->add_view(x, shape, std::move(strides), 0);
}

Result<TensorId> GraphBuilder::dense(TensorId x) {
  BP_TRY(state_->check(x, "dense"));
  if (is_dense(dtype(x), state_->shape(x), state_->strides(x))) return x;
  return op(Op::kCOPY, {x});
}

}  // namespace backplane
