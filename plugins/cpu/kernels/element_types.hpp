// Element types as C++ types, for kernels that compute on single elements where they lie.
// Thread safety: pure functions.
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/types.hpp"

namespace backplane_cpu {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;

// What single elements of T are computed in: f32 for the halves, 64 unsigned bits (which wrap) for integers.
template <class T>
using Arithmetic = std::conditional_t<kIsHalf<T>, float, std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;

template <class T>
auto value_of(T element) {
  if constexpr (kIsHalf<T>) {
    return to_float(element);
  } else {
    return element;
  }
}

// Rounds or wraps to T.
template <class T, class V>
T element_of(V value) {
  if constexpr (std::is_same_v<T, F16>) {
    return to_f16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return to_bf16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// Memory may be shared with other types: hence memcpy.
template <class T>
T load_element(const std::byte* from) {
  T element;
  std::memcpy(&element, from, sizeof(T));
  return element;
}
template <class T>
void store_element(std::byte* to, T element) {
  std::memcpy(to, &element, sizeof(T));
}

// Calls f(T{}) for the type of a number's elements. REQUIRES: is_number(dtype).
template <class F>
decltype(auto) with_number_type(uint32_t dtype, F&& f) {
  switch (dtype) {
    case BP_TYPE_F64:
      return f(double{});
    case BP_TYPE_F16:
      return f(F16{});
    case BP_TYPE_BF16:
      return f(Bf16{});
    case BP_TYPE_I64:
      return f(int64_t{});
    case BP_TYPE_I32:
      return f(int32_t{});
    case BP_TYPE_I16:
      return f(int16_t{});
    case BP_TYPE_I8:
      return f(int8_t{});
    case BP_TYPE_U64:
      return f(uint64_t{});
    case BP_TYPE_U32:
      return f(uint32_t{});
    case BP_TYPE_U16:
      return f(uint16_t{});
    case BP_TYPE_U8:
      return f(uint8_t{});
    default:
      return f(float{});
  }
}

// Calls f(T{}) for an unsigned integer of as many bytes: for kernels that only move.
template <class F>
decltype(auto) with_bits_type(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace backplane_cpu
