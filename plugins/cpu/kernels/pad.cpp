// pad: every place along an axis has a source, or is outside.

#include "kernels/checks.hpp"
#include "kernels/families.hpp"
#include "kernels/table_kernel.hpp"

namespace backplane_cpu {
namespace {

// The source index along an axis of `extent` for place `i - begin`, which may lie on either side of it.
int64_t source_index(std::string_view mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == "edge") return i < 0 ? 0 : extent - 1;
  if (mode == "wrap") return (i % extent + extent) % extent;
  if (mode == "reflect") return i < 0 ? -i : 2 * (extent - 1) - i;
  return kOutside;
}

}  // namespace

Prepared prepare_pad(const NodeView& node) {
  check_signature(node, 1, 2, 1, {BP_ATTR_PADS, BP_ATTR_MODE});
  const TensorView x = node.input(0), y = node.output(0);
  check_type(x, element_bytes(x.dtype()) != 0, "a plain type");
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  if (node.has_input(1)) {
    check_type(node.input(1), node.input(1).dtype() == x.dtype(), "the type of input 0");
    require(node.input(1).elements() == 1, "the pad value is a scalar");
  }
  const std::string_view mode = node.text(BP_ATTR_MODE, "constant");
  require(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap",
          "mode must be constant, reflect, edge or wrap");
  const std::span<const int64_t> pads = node.i64s(BP_ATTR_PADS);
  require(pads.size() == 2 * size_t{x.rank()} && y.rank() == x.rank(), "pads needs two entries per axis");
  std::vector<std::vector<int64_t>> offsets;
  for (uint32_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t extent = x.shape()[axis], begin = pads[axis], end = pads[axis + x.rank()];
    int64_t wanted = 0;
    require(begin >= 0 && end >= 0 && !__builtin_add_overflow(extent, begin, &wanted) &&
                !__builtin_add_overflow(wanted, end, &wanted) && wanted == y.shape()[axis],
            "pads must be non-negative and give the output's shape");
    require(mode == "constant" || extent > 0 || wanted == 0, "nothing to repeat along an empty axis");
    require(mode != "reflect" || (begin < std::max<int64_t>(extent, 1) && end < std::max<int64_t>(extent, 1)),
            "reflecting pads must be below the extent");
    std::vector<int64_t>& table = offsets.emplace_back();
    for (int64_t i = 0; i < wanted; ++i) {
      const int64_t source = source_index(mode, i - begin, extent);
      table.push_back(source == kOutside ? kOutside : source * x.strides()[axis]);
    }
  }
  return {std::make_unique<TableKernel>(std::move(offsets), y, node.has_input(1)), {}, 0};
}

}  // namespace backplane_cpu
