// Staging: a kernel that runs on operands in other types than the node's. Inputs are converted into scratch, dense;
// the kernel for the other types runs on them; its outputs are converted back. So a family is written for few types.
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "kernels/kernel.hpp"

namespace backplane_cpu {

struct Staging {
  static constexpr uint32_t kAsIs = 0;
  struct Input {
    uint32_t dtype = kAsIs;      // the type that the kernel gets
    uint32_t less = UINT32_MAX;  // the input that is subtracted first: a zero point, which broadcasts to it
  };
  uint32_t op = 0;                // that the kernel computes
  std::vector<Input> inputs;      // of the kernel; it may have fewer than the node
  std::vector<uint32_t> outputs;  // their types, or kAsIs
};

// Asks `prepare` for the kernel; its refusal is the answer. Throws a refusal as checks do.
Prepared prepare_staged(const NodeView& node, const Staging& staging, PrepareFn prepare);

// The type that the families of linear algebra and networks compute an op's narrower type in, exactly for integers;
// kAsIs if they have kernels for the type itself, or none.
uint32_t widened_type(uint32_t op, uint32_t dtype);
// Asks `prepare` with every operand of input 0's type in the type that it is computed in.
Prepared prepare_widened(const NodeView& node, PrepareFn prepare);

}  // namespace backplane_cpu
