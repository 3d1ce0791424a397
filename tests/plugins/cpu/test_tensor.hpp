// TestTensor: a small tensor with any strides, filled and read element by element; for tests.
//
// Values go in and out as double (bool as 0 or 1), in logical order, outermost axis first. The memory is exactly as
// large as the elements need, so that AddressSanitizer sees every step outside. Copies are deep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

namespace backplane_cpu::testing {

using Shape = std::vector<int64_t>;
using Values = std::vector<double>;

// Seeded random numbers: print `seed` when a test fails.
struct Random {
  explicit Random(uint32_t seed) : engine(seed) {}
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine); }
  int64_t integer(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine); }
  std::mt19937 engine;
};

class TestTensor {
 public:
  // Dense, filled with `values` (rounded to the type), or with zeros if there are none.
  TestTensor(uint32_t dtype, Shape shape, const Values& values = {});
  // Dense, with random values of [low, high]; integer types get integers.
  static TestTensor random(uint32_t dtype, Shape shape, Random& random, double low = -2, double high = 2);
  // Dense, from the exact bits of `values`; T must have the size of the type.
  template <class T>
  static TestTensor exact(uint32_t dtype, Shape shape, const std::vector<T>& values) {
    TestTensor tensor(dtype, std::move(shape));
    std::memcpy(tensor.memory.data(), values.data(), values.size() * sizeof(T));
    return tensor;
  }

  // Views of the same values: axes reordered; an axis of extent 1 (or new outer axes) repeated with stride 0;
  // every `step`-th of `count` elements of an axis, from `begin` on.
  TestTensor permuted(const std::vector<uint32_t>& order) const;
  TestTensor broadcast(const Shape& to) const;
  TestTensor sliced(uint32_t axis, int64_t begin, int64_t count, int64_t step = 1) const;
  // The same values and shape, laid out in a random axis order with random gaps and a random start.
  TestTensor scattered(Random& random) const;

  int64_t elements() const;
  size_t element_bytes() const;
  // Byte position in `memory` of the index-th element in logical order.
  size_t position(int64_t index) const;
  double get(int64_t index) const;
  void set(int64_t index, double value);
  Values values() const;
  template <class T>
  T get_exact(int64_t index) const {
    T value;
    std::memcpy(&value, memory.data() + position(index), sizeof value);
    return value;
  }

  uint32_t dtype;
  Shape shape;
  Shape strides;      // bytes
  size_t offset = 0;  // of element [0, 0, ...] in memory
  std::vector<std::byte> memory;
};

}  // namespace backplane_cpu::testing
