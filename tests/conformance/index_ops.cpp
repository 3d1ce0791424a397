// Random nodes of the ops that select and place elements and rows by index, and of those that order them.
#include <algorithm>

#include "families.hpp"

namespace backplane::testing {
namespace {

// The shape of indices into `shape` along one axis.
Shape element_indices(NodeCase& node, const Shape& shape) {
  const int64_t axis = node.random.between(0, static_cast<int64_t>(shape.size()) - 1);
  node.attrs.set(BP_ATTR_AXIS, axis);
  Shape indices = shape;
  for (int64_t& extent : indices)
    if (node.random.chance(30)) extent = node.random.between(0, extent);
  indices[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)] == 0 ? 0 : node.random.between(0, 6);
  add_indices(node, indices, {shape[static_cast<size_t>(axis)]});
  return indices;
}

// The shape of the blocks that tuples of indices into `shape` pick.
Shape tuples(NodeCase& node, const Shape& shape, int64_t batch_dims) {
  const int64_t most = static_cast<int64_t>(shape.size()) - batch_dims;
  const int64_t length = node.random.between(1, most);
  const auto first = shape.begin() + batch_dims;
  const std::vector<int64_t> extents(first, first + length);
  const bool empty = std::find(extents.begin(), extents.end(), 0) != extents.end();
  Shape indices(shape.begin(), first);
  for (int64_t left = node.random.between(0, 2); left > 0; --left) indices.push_back(node.random.between(0, 4));
  if (empty) indices.push_back(0);
  Shape blocks = indices;
  blocks.insert(blocks.end(), first + length, shape.end());
  indices.push_back(length);
  add_indices(node, indices, extents);
  return blocks;
}

void make_gather_elements(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  node.operand(node.type(kAnyType), shape, Values::any);
  element_indices(node, shape);
}

void make_gather_nd(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  node.operand(node.type(kAnyType), shape, Values::any);
  const int64_t batch_dims = node.random.between(0, static_cast<int64_t>(shape.size()) - 1);
  if (batch_dims > 0) node.attrs.set(BP_ATTR_BATCH_DIMS, batch_dims);
  tuples(node, shape, batch_dims);
}

DType add_scattered(NodeCase& node, const Shape& shape) {
  const bool reduces = node.random.chance(60);
  const DType dtype = reduces ? node.type(kNums) : node.type(kAnyType);
  if (reduces) node.attrs.set(BP_ATTR_REDUCTION, node.random.pick<std::string>({"add", "mul", "min", "max"}));
  node.operand(dtype, shape, reduces ? Values::moderate : Values::any);
  if (reduces) node.tolerance = {.absolute = kAnyZero};
  return dtype;
}

void make_scatter_elements(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  const DType dtype = add_scattered(node, shape);
  node.operand(dtype, element_indices(node, shape), Values::moderate);
}

void make_scatter_nd(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  const DType dtype = add_scattered(node, shape);
  node.operand(dtype, tuples(node, shape, 0), Values::moderate);
}

void make_cum_sum(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  const DType dtype = node.type(kNums);
  node.operand(dtype, shape, Values::moderate);
  node.attrs.set(BP_ATTR_AXIS, node.random.between(0, static_cast<int64_t>(shape.size()) - 1));
  if (node.random.chance(50)) node.attrs.set(BP_ATTR_EXCLUSIVE, int64_t{1});
  if (node.random.chance(50)) node.attrs.set(BP_ATTR_REVERSE, int64_t{1});
  node.tolerance = {.absolute = kAnyZero};
}

void make_top_k(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  node.operand(node.type(kNums), shape, mostly_moderate(node.random));
  const int64_t axis = node.random.between(0, static_cast<int64_t>(shape.size()) - 1);
  node.attrs.set(BP_ATTR_AXIS, axis);
  node.attrs.set(BP_ATTR_K, node.random.between(0, shape[static_cast<size_t>(axis)]));
  if (node.random.chance(50)) node.attrs.set(BP_ATTR_LARGEST, int64_t{0});
  node.wanted = node.random.pick<std::vector<uint8_t>>({{1, 1}, {1, 1}, {1, 0}, {0, 1}});
}

void make_sort(NodeCase& node) {
  const Shape shape = node.random.shape(1, 4);
  node.operand(node.type(kNums), shape, node.random.chance(50) ? Values::any : Values::special);
  if (node.random.chance(70)) node.attrs.set(BP_ATTR_AXIS, node.random.between(0, std::ssize(shape) - 1));
  if (node.random.chance(60)) node.attrs.set(BP_ATTR_DESCENDING, node.random.between(0, 1));
  node.wanted = node.random.pick<std::vector<uint8_t>>({{1, 1}, {1, 1}, {1, 0}, {0, 1}});
}

void make_set_rows(NodeCase& node) {
  Random& random = node.random;
  const bool blocks = random.chance(20);
  const DType dtype = blocks ? random.pick(std::span<const DType>(kBlockTypes)) : node.type(kAnyType);
  const bool casts = (blocks || is_float(dtype)) && random.chance(50);
  const DType from = casts ? random.pick(std::span<const DType>(kFloats)) : dtype;
  Shape shape = random.shape(2, blocks ? 3 : 4);
  if (blocks) shape.back() = 256 * random.between(1, 2);
  const auto operand = [&](DType type, const Shape& extents) {
    if (is_plain(type)) return node.operand(type, extents, blocks ? Values::moderate : Values::any);
    node.operand(random.tensor(type, extents, Values::moderate));  // views of blocks are not made
  };
  operand(dtype, shape);
  int64_t& count = shape[shape.size() - 2];
  const int64_t extent = count;
  count = extent == 0 ? 0 : random.between(0, 6);
  operand(from, shape);
  shape.pop_back();
  add_indices(node, narrowed(random, shape), {extent});
}

}  // namespace

std::span<const OpUnderTest> index_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kGATHER_ELEMENTS, DType::kF32, make_gather_elements},
      {Op::kGATHER_ND, DType::kF32, make_gather_nd},
      {Op::kSCATTER_ELEMENTS, DType::kF32, make_scatter_elements},
      {Op::kSCATTER_ND, DType::kF32, make_scatter_nd},
      {Op::kCUM_SUM, DType::kF32, make_cum_sum},
      {Op::kTOP_K, DType::kF32, make_top_k},
      {Op::kSORT, DType::kF32, make_sort},
      {Op::kSET_ROWS, DType::kF32, make_set_rows},
  };
  return kOps;
}

}  // namespace backplane::testing
