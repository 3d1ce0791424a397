// Comparing a result with the reference's: exactly, or within a tolerance for floats. Thread safety: pure functions.
#pragma once

#include <string>

#include "backplane/graph/host_tensor.hpp"

namespace backplane::testing {

// What a float may differ by: |got - want| <= absolute + relative |want| + ulps units in the last place of `want`.
// All zero: the same value, for integers the same bits, and the same sign of zero.
struct Tolerance {
  double ulps = 0;  // of f16 and bf16 at most 1: they are computed in f32 and rounded once
  double absolute = 0;
  double relative = 0;
  uint64_t integers = 0;  // what integers may differ by
};

// An absolute tolerance that lets 0 be -0: where either is a right answer, as of max(0, -0).
inline constexpr double kAnyZero = 0x1p-1074;

// Empty if `got` matches; else what differs: type, shape, or the first element and how many. NaN matches NaN.
std::string difference(const HostTensor& got, const HostTensor& want, const Tolerance& tolerance);

}  // namespace backplane::testing
