// Spatial: strides, dilations and pads of convolutions and pools, with auto_pad resolved.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "node_context.hpp"

namespace backplane::onnx_import {

struct Spatial {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads;  // begins, then ends
  std::vector<int64_t> in;    // the input's spatial extents

  // KERNEL_SHAPE (of pools), STRIDES, DILATIONS and PADS as attributes.
  AttrList attrs(bool with_kernel) const;
};

// Fills in what is absent and checks the values against the kernel's rank; pads must not be negative.
Status complete_spatial(Spatial& spatial);

// Reads and completes the attributes of a node whose input 0 is [N, C, spatial...]; `kernel` are the kernel's spatial
// extents. Resolves auto_pad for ops that shrink (conv and pools), not for conv_transpose. Errors: invalid_argument.
Result<Spatial> read_spatial(NodeContext& c, std::vector<int64_t> kernel, bool transposed = false);

}  // namespace backplane::onnx_import
