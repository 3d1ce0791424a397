#include "families.hpp"

namespace backplane::testing {

int64_t element_product(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

std::vector<int64_t> random_list(Random& random, size_t count, int64_t least, int64_t most) {
  std::vector<int64_t> list(count);
  for (int64_t& value : list) value = random.between(least, most);
  return list;
}

std::vector<int64_t> random_axes(Random& random, size_t rank) {
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < rank; ++axis)
    if (random.chance(50)) axes.push_back(static_cast<int64_t>(axis));
  return axes;
}

Shape narrowed(Random& random, const Shape& shape) {
  Shape narrow = shape;
  if (random.chance(50)) return narrow;
  for (int64_t& extent : narrow)
    if (random.chance(40)) extent = 1;
  narrow.erase(narrow.begin(), narrow.begin() + random.between(0, static_cast<int64_t>(narrow.size())));
  return narrow;
}

void add_indices(NodeCase& node, const Shape& shape, const std::vector<int64_t>& extents) {
  Random& random = node.random;
  HostTensor indices = HostTensor::zeros(DType::kI64, shape).value();
  auto* values = indices.mutable_data<int64_t>();
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int64_t extent = extents[static_cast<size_t>(i) % extents.size()];
    values[i] = extent > 0 ? random.between(-extent, extent - 1) : 0;
  }
  if (indices.elements() > 0 && random.chance(5))
    values[random.between(0, indices.elements() - 1)] = random.chance(50) ? 1000 : -1000;
  if (random.chance(50)) {
    const std::vector<int32_t> narrow(values, values + indices.elements());
    indices = HostTensor::of<int32_t>(DType::kI32, shape, narrow);
  }
  node.operand(std::move(indices));
}

}  // namespace backplane::testing
