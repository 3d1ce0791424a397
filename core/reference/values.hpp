// Values: tensors as vectors of one of three C++ types, so that each op is written once. Internal to core/reference.
//
// Floats are computed in double, signed integers in int64_t, unsigned integers and bool in uint64_t: every element of
// the narrower types is exact in them, and results are rounded or wrapped once, by `store`.
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "backplane/graph/host_tensor.hpp"
#include "backplane/graph/inference.hpp"

namespace backplane::reference {

// All elements as V (double, int64_t or uint64_t). Integers beyond 2^53 are exact unless V is double.
// REQUIRES: neither a float type nor a block-quantised one unless V is double.
template <class V>
std::vector<V> load(const HostTensor& x);

// A tensor of `spec` with these values, converted as the op `cast` does: rounding to nearest even, wrapping from
// integer to integer, truncating and saturating from float to integer. Errors: resource_exhausted. REQUIRES: not
// block-quantised unless V is double.
template <class V>
Result<HostTensor> store(const TensorSpec& spec, const std::vector<V>& values);

// The identity of max: -infinity or the type's lowest value. And of min.
template <class V>
V lowest(DType dtype);
template <class V>
V highest(DType dtype);

bool is_signed_integer(DType dtype);

// The value of an f16's bits, and the bits of the f16 nearest to a value, even in a tie.
double f16_value(uint16_t bits);
uint16_t f16_bits(double value);

// Calls f with a value of the type that elements of `dtype` are computed in.
template <class F>
auto with_domain(DType dtype, F&& f) {
  if (is_float(dtype)) return f(double{});
  if (is_signed_integer(dtype)) return f(int64_t{});
  return f(uint64_t{});
}

// ---- arithmetic as op set 1 defines it: integers wrap, NaN propagates

template <class V>
V add(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) return a + b;
  return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class V>
V subtract(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) return a - b;
  return static_cast<V>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

template <class V>
V multiply(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) return a * b;
  return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class V>
V divide(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) return a / b;
  if (b == 0) return 0;
  if (std::is_signed_v<V> && b == static_cast<V>(-1)) return subtract(V{0}, a);
  return a / b;
}

template <class V>
V absolute(V x) {
  if constexpr (std::is_floating_point_v<V>) return std::fabs(x);
  return std::is_signed_v<V> && x < 0 ? subtract(V{0}, x) : x;
}

template <class V>
V maximum(V a, V b) {
  if constexpr (std::is_floating_point_v<V>)
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<V>::quiet_NaN();
  return a < b ? b : a;
}

template <class V>
V minimum(V a, V b) {
  if constexpr (std::is_floating_point_v<V>)
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<V>::quiet_NaN();
  return b < a ? b : a;
}

// A double as an integer in the way of `cast`: towards zero, saturating, NaN gives 0.
template <class V>
V truncate(double x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(std::numeric_limits<V>::min())) return std::numeric_limits<V>::min();
  if (x >= static_cast<double>(std::numeric_limits<V>::max())) return std::numeric_limits<V>::max();
  return static_cast<V>(x);
}

// x times a factor from an attribute; exact for integers if the factor is an integer.
template <class V>
V scale(V x, double factor) {
  if constexpr (std::is_floating_point_v<V>) {
    return x * factor;
  } else {
    if (factor == std::trunc(factor)) return multiply(x, static_cast<V>(truncate<int64_t>(factor)));
    return truncate<V>(static_cast<double>(x) * factor);
  }
}

}  // namespace backplane::reference
