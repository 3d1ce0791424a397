// Random: a small seeded generator, the same on every machine, and tensors filled from it.
// Thread safety: as a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backplane/graph/host_tensor.hpp"

namespace backplane::testing {

using Shape = std::vector<int64_t>;

// What a random tensor holds.
enum class Values {
  any,       // the type's whole range, special values included
  moderate,  // about [-4, 4], so that sums and products stay well conditioned
  special,   // moderate, with NaN, infinities, zeros and denormals strewn in
  positive,  // about (0, 4]
  offset,    // floats in [100, 101]; integers as moderate
  unit,      // about [-1, 1]: what keeps recurrences from growing
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits();
  // In [least, most].
  int64_t between(int64_t least, int64_t most);
  double real(double least, double most);
  // True in `percent` of all calls.
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T>
  T pick(std::span<const T> items) {
    return items[static_cast<size_t>(between(0, static_cast<int64_t>(items.size()) - 1))];
  }
  template <class T>
  T pick(std::initializer_list<T> items) {
    return pick(std::span<const T>(items.begin(), items.size()));
  }

  // Rank in [least_rank, most_rank]; extents are small, at times one is large or zero.
  Shape shape(int64_t least_rank, int64_t most_rank, bool zeros_too = true);
  HostTensor tensor(DType dtype, Shape shape, Values values);

 private:
  double element(DType dtype, Values values);
  double any_float(DType dtype);

  uint64_t state_;
};

}  // namespace backplane::testing
