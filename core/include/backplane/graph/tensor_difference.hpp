// TensorDifference: how far two tensors that should be equal are apart. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "backplane/graph/host_tensor.hpp"

namespace backplane {

struct Tolerance {
  double absolute = 1e-4;
  double relative = 1e-3;
};

// An element fits if |got - expected| <= absolute + relative * |expected|. NaN fits NaN only, an infinity itself only.
// Block-quantised values fit only if the bytes of their block are equal; a block counts as one element here.
struct TensorDifference {
  int64_t elements = 0, mismatches = 0;
  int64_t first_mismatch = -1;   // -1 = there is none
  double max_absolute = 0;       // infinite where just one side is NaN or infinite, or blocks differ
  double max_relative = 0;       // over expected values other than 0
  int64_t worst = -1;            // element furthest beyond (or nearest to) the tolerance; -1 = there are no elements
  double got = 0, expected = 0;  // there; NaN for blocks

  bool fits() const { return mismatches == 0; }
};

// REQUIRES: equal shapes; equal types, or both plain.
TensorDifference tensor_difference(const HostTensor& got, const HostTensor& expected, const Tolerance& tolerance);

}  // namespace backplane
