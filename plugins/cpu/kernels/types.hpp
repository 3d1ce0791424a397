// Element types of the kernels: half precision conversions, and the types that arithmetic is done in.
//
// A kernel is written for few compute types; every other element type is converted on the way in and out.
// Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "backplane/abi/graph.h"
#include "backplane/sdk/graph_view.hpp"

namespace backplane_cpu {

// Bits of an f16 or bf16 value; tells the two apart and both from integers.
struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};

// The conversions have no branches, so that loops over them become vectors.

// a if the condition holds, else b.
inline uint32_t choose(bool condition, uint32_t a, uint32_t b) { return b ^ ((a ^ b) & (0u - uint32_t{condition})); }

inline float to_float(F16 value) {
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(value.bits & 0x7FFFu) << 13;
  constexpr float kRebias = 5.192296858534828e33f;  // 2^112: moves the exponent and normalises subnormals
  const uint32_t number = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * kRebias);
  const uint32_t special = choose(magnitude >= 0x0F800000u, 0x7F800000u, 0);  // the exponent of infinity and NaN
  return std::bit_cast<float>(sign | number | special);
}

inline float to_float(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

// Rounds to nearest even.
inline F16 to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t normal = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  // The sum with 0.5 rounds to units of 2^-24.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  const uint32_t large = choose(magnitude > 0x7F800000u, 0x7E00u, 0x7C00u);  // NaN, or infinite
  const uint32_t finite = choose(magnitude < 0x38800000u, subnormal, normal);
  return {static_cast<uint16_t>((bits >> 16 & 0x8000u) | choose(magnitude >= 0x47800000u, large, finite))};
}

inline Bf16 to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16, quiet = bits >> 16 | 0x40u;
  return {static_cast<uint16_t>(choose((bits & 0x7FFFFFFFu) > 0x7F800000u, quiet, rounded))};
}

// Rounds to f32 so that a second rounding to fewer bits gives what one rounding would: inexact results become odd.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) == value || value != value || (bits & 1u) != 0) return nearest;
  const bool too_large =
      (nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest)) > (value < 0 ? -value : value);
  bits = too_large ? bits - 1 : bits + 1;
  return std::bit_cast<float>(bits);
}

// What a kernel computes in. kBool is one byte holding 0 or 1.
enum class Compute : uint8_t { kF32, kF64, kI64, kU64, kBool, kNone };

// The compute type that holds every value of an element type; kNone for types without arithmetic.
inline Compute compute_of(uint32_t dtype) {
  switch (dtype) {
    case BP_TYPE_F32:
    case BP_TYPE_F16:
    case BP_TYPE_BF16:
      return Compute::kF32;
    case BP_TYPE_F64:
      return Compute::kF64;
    case BP_TYPE_I64:
    case BP_TYPE_I32:
    case BP_TYPE_I16:
    case BP_TYPE_I8:
    case BP_TYPE_U32:
    case BP_TYPE_U16:
    case BP_TYPE_U8:
      return Compute::kI64;
    case BP_TYPE_U64:
      return Compute::kU64;
    case BP_TYPE_BOOL:
      return Compute::kBool;
    default:
      return Compute::kNone;
  }
}

// Whether the elements in memory are the compute type itself.
inline bool is_native(uint32_t dtype) {
  return dtype == BP_TYPE_F32 || dtype == BP_TYPE_F64 || dtype == BP_TYPE_I64 || dtype == BP_TYPE_U64 ||
         dtype == BP_TYPE_BOOL;
}

inline bool is_float(uint32_t dtype) {
  return dtype == BP_TYPE_F32 || dtype == BP_TYPE_F64 || dtype == BP_TYPE_F16 || dtype == BP_TYPE_BF16;
}
inline bool is_integer(uint32_t dtype) { return dtype >= BP_TYPE_I64 && dtype <= BP_TYPE_U8; }
inline bool is_unsigned(uint32_t dtype) { return dtype >= BP_TYPE_U64 && dtype <= BP_TYPE_U8; }
inline bool is_number(uint32_t dtype) { return is_float(dtype) || is_integer(dtype); }

// Bytes of one element; 0 for block-quantised and unknown types.
inline size_t element_bytes(uint32_t dtype) {
  const backplane::sdk::TypeLayout layout = backplane::sdk::type_layout(dtype);
  return layout.block_elements == 1 ? layout.block_bytes : 0;
}

}  // namespace backplane_cpu
