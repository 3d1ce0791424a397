// Checks that a factory makes before it promises a kernel. A failed check throws sdk::Error, which prepare_kernel
// turns into the refusal that the host shows. Thread safety: pure functions.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "kernels/kernel.hpp"
#include "kernels/types.hpp"

namespace backplane_cpu {

[[noreturn]] inline void refuse(const std::string& why) { throw backplane::sdk::Error(BP_E_UNSUPPORTED, why); }

// Throws unless `ok`. `why` says what was wanted.
inline void require(bool ok, const char* why) {
  if (!ok) refuse(why);
}

// Checks the number of inputs (those up to `min_inputs` present) and outputs, and that every attribute that matters
// is one of `attrs`.
void check_signature(const NodeView& node, uint32_t min_inputs, uint32_t max_inputs, uint32_t outputs,
                     std::initializer_list<uint32_t> attrs = {});

// Throws naming the type unless `ok`.
inline void check_type(const TensorView& tensor, bool ok, const char* wanted) {
  if (!ok) refuse(std::string("type ") + backplane::sdk::type_name(tensor.dtype()) + ", wanted " + wanted);
}

// Throws naming both shapes unless they are equal.
void check_shape(const TensorView& tensor, std::span<const int64_t> wanted);

// Whole blocks along the last axis; of plain types, an axis.
void check_blocks(const TensorView& tensor);

inline bool same_shape(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

std::string shape_text(std::span<const int64_t> shape);

}  // namespace backplane_cpu
