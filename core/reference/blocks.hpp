// Blocks: the block-quantised types, from and to values, as docs/spec/ops.md defines them. Internal to core/reference.
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "backplane/graph/host_tensor.hpp"
#include "backplane/graph/inference.hpp"

namespace backplane::reference {

// REQUIRES: a block-quantised type.
std::vector<double> load_blocks(const HostTensor& x);
// Errors: resource_exhausted. REQUIRES: a block-quantised type, as many values as the shape has.
Result<HostTensor> store_blocks(const TensorSpec& spec, const std::vector<double>& values);

}  // namespace backplane::reference
