#include "test_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backplane/sdk/graph_view.hpp"

namespace backplane_cpu::testing {
namespace {

// Rounds to a float of `mantissa` stored bits with smallest exponent `least`, to nearest even; the plain way.
uint16_t encode_small(double x, int mantissa, int least, uint16_t infinity) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return static_cast<uint16_t>(infinity | 1u << (mantissa - 1));
  const double magnitude = std::fabs(x);
  if (std::isinf(magnitude)) return static_cast<uint16_t>(sign | infinity);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), least);
  const double bits =
      std::nearbyint(std::ldexp(magnitude, mantissa - exponent)) + std::ldexp(exponent - least, mantissa);
  return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::min<double>(bits, infinity)));
}

double decode_small(uint16_t bits, int mantissa, int least) {
  const int field = (bits & 0x7FFF) >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  const int highest = (1 << (15 - mantissa)) - 1;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (field == highest) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (field == 0) return sign * std::ldexp(fraction, least - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), field - 1 + least - mantissa);
}

template <class T>
double load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

template <class T>
void store(std::byte* to, double value) {
  const T converted = static_cast<T>(value);
  std::memcpy(to, &converted, sizeof converted);
}

Shape dense_strides(const Shape& shape, size_t element) {
  Shape strides(shape.size());
  int64_t next = static_cast<int64_t>(element);
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = next;
    next *= std::max<int64_t>(shape[axis], 1);
  }
  return strides;
}

}  // namespace

TestTensor::TestTensor(uint32_t type, Shape extents, const Values& values)
    : dtype(type), shape(std::move(extents)), strides(dense_strides(shape, element_bytes())) {
  memory.resize(static_cast<size_t>(elements()) * element_bytes());
  for (size_t i = 0; i < values.size(); ++i) set(static_cast<int64_t>(i), values[i]);
}

TestTensor TestTensor::random(uint32_t dtype, Shape shape, Random& random, double low, double high) {
  TestTensor tensor(dtype, std::move(shape));
  const bool real = dtype <= BP_TYPE_BF16;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.set(i, real ? random.real(low, high)
                       : static_cast<double>(random.integer(static_cast<int64_t>(low), static_cast<int64_t>(high))));
  }
  return tensor;
}

TestTensor TestTensor::permuted(const std::vector<uint32_t>& order) const {
  TestTensor view = *this;
  for (size_t axis = 0; axis < order.size(); ++axis) {
    view.shape[axis] = shape[order[axis]];
    view.strides[axis] = strides[order[axis]];
  }
  return view;
}

TestTensor TestTensor::broadcast(const Shape& to) const {
  TestTensor view = *this;
  view.shape = to;
  view.strides.assign(to.size(), 0);
  const size_t added = to.size() - shape.size();
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] == to[axis + added]) view.strides[axis + added] = strides[axis];
  return view;
}

TestTensor TestTensor::sliced(uint32_t axis, int64_t begin, int64_t count, int64_t step) const {
  TestTensor view = *this;
  if (count != 0) view.offset += static_cast<size_t>(begin * strides[axis]);
  view.shape[axis] = count;
  view.strides[axis] = strides[axis] * step;
  return view;
}

TestTensor TestTensor::scattered(Random& random) const {
  TestTensor result(dtype, shape);
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random.engine);
  const int64_t element = static_cast<int64_t>(element_bytes());
  int64_t next = element * random.integer(1, 2);
  for (const size_t axis : order) {
    result.strides[axis] = next;
    next = next * std::max<int64_t>(shape[axis], 1) + element * random.integer(0, 2);
  }
  result.offset = static_cast<size_t>(element * random.integer(0, 3));
  size_t end = 0;
  if (elements() != 0) {
    end = result.offset + static_cast<size_t>(element);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      end += static_cast<size_t>((shape[axis] - 1) * result.strides[axis]);
  }
  result.memory.assign(std::max(end, result.offset), std::byte{0x5A});
  for (int64_t i = 0; i < elements(); ++i)
    std::memcpy(result.memory.data() + result.position(i), memory.data() + position(i), element_bytes());
  return result;
}

int64_t TestTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

size_t TestTensor::element_bytes() const { return backplane::sdk::type_layout(dtype).block_bytes; }

size_t TestTensor::position(int64_t index) const {
  int64_t at = static_cast<int64_t>(offset);
  for (size_t axis = shape.size(); axis-- > 0;) {
    at += index % shape[axis] * strides[axis];
    index /= shape[axis];
  }
  return static_cast<size_t>(at);
}

double TestTensor::get(int64_t index) const {
  const std::byte* from = memory.data() + position(index);
  uint16_t half = 0;
  switch (dtype) {
    case BP_TYPE_F64:
      return load<double>(from);
    case BP_TYPE_F32:
      return load<float>(from);
    case BP_TYPE_F16:
      std::memcpy(&half, from, 2);
      return decode_small(half, 10, -14);
    case BP_TYPE_BF16:
      std::memcpy(&half, from, 2);
      return decode_small(half, 7, -126);
    case BP_TYPE_I64:
      return load<int64_t>(from);
    case BP_TYPE_I32:
      return load<int32_t>(from);
    case BP_TYPE_I16:
      return load<int16_t>(from);
    case BP_TYPE_I8:
      return load<int8_t>(from);
    case BP_TYPE_U64:
      return load<uint64_t>(from);
    case BP_TYPE_U32:
      return load<uint32_t>(from);
    case BP_TYPE_U16:
      return load<uint16_t>(from);
    default:
      return load<uint8_t>(from);
  }
}

void TestTensor::set(int64_t index, double value) {
  std::byte* to = memory.data() + position(index);
  switch (dtype) {
    case BP_TYPE_F64:
      return store<double>(to, value);
    case BP_TYPE_F32:
      return store<float>(to, value);
    case BP_TYPE_F16:
      return store<uint16_t>(to, encode_small(value, 10, -14, 0x7C00));
    case BP_TYPE_BF16:
      return store<uint16_t>(to, encode_small(value, 7, -126, 0x7F80));
    case BP_TYPE_I64:
      return store<int64_t>(to, value);
    case BP_TYPE_I32:
      return store<int32_t>(to, value);
    case BP_TYPE_I16:
      return store<int16_t>(to, value);
    case BP_TYPE_I8:
      return store<int8_t>(to, value);
    case BP_TYPE_U64:
      return store<uint64_t>(to, value);
    case BP_TYPE_U32:
      return store<uint32_t>(to, value);
    case BP_TYPE_U16:
      return store<uint16_t>(to, value);
    default:
      return store<uint8_t>(to, value);
  }
}

Values TestTensor::values() const {
  Values result(static_cast<size_t>(elements()));
  for (size_t i = 0; i < result.size(); ++i) result[i] = get(static_cast<int64_t>(i));
  return result;
}

}  // namespace backplane_cpu::testing
