// Blocks of the block-quantised types, from and to dense floats. Layouts as in types.def, quantisation as in
// docs/spec/ops.md. Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace backplane_cpu {

inline constexpr int64_t kMaxBlock = 256;  // elements

// Writes the elements of one block.
using DecodeFn = void (*)(const std::byte* block, float* out);
// Writes one block, from as many values, which are finite.
using EncodeFn = void (*)(const double* values, std::byte* block);

// Null for other types.
DecodeFn decode_function(uint32_t dtype);
EncodeFn encode_function(uint32_t dtype);

}  // namespace backplane_cpu
