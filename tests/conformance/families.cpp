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

}  // namespace backplane::testing
