// Conversions of dense runs between element types and compute types. Thread safety: pure functions.
#pragma once

#include "kernels/types.hpp"

namespace backplane_cpu {

// Converts `count` dense elements. Source and target do not overlap.
using ConvertFn = void (*)(const void* from, void* to, int64_t count);

// From an element type to compute_of(dtype); exact. Null if there is no arithmetic for the type.
ConvertFn widen_function(uint32_t dtype);

// From a compute type to an element type, as op `cast` defines it: floats round to nearest even, float to integer
// truncates and saturates with NaN giving 0, integers wrap, anything to bool is x != 0. Null if there is none.
ConvertFn narrow_function(Compute from, uint32_t dtype);

}  // namespace backplane_cpu
