// Blocks of the block-quantised types, from and to dense floats. Layouts as in types.def, quantisation as in
// docs/spec/ops.md. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/types.hpp"

namespace backplane_cpu {

inline constexpr int64_t kMaxBlock = 256;  // elements

// Writes the elements of one block.
using DecodeFn = void (*)(const std::byte* block, float* out);
// Writes one block, from as many values, which are finite.
using EncodeFn = void (*)(const double* values, std::byte* block);

// Null for other types.
DecodeFn decode_function(uint32_t dtype);
EncodeFn encode_function(uint32_t dtype);
inline bool is_block(uint32_t dtype) { return decode_function(dtype) != nullptr; }

// Writes one block from `count` elements of a compute type, f32 or f64: NaN counts as 0, and values are clamped to the
// range of f32.
void encode_block(EncodeFn encode, Compute from, const void* elements, int64_t count, std::byte* block);

}  // namespace backplane_cpu
