// Shape and type inference for op set 1: what a node's outputs are, from its inputs and attributes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/attrs.hpp"
#include "backplane/graph/types.hpp"

namespace backplane {

struct TensorSpec {
  DType dtype;
  std::vector<int64_t> shape;
};

// One spec per possible output of the op. `inputs` holds nullopt where an optional input is absent. Checks arity,
// types, shapes and attribute values as docs/spec/ops.md defines them, and fills in nothing: attributes stay as given.
// Errors: invalid_argument naming op, input and shape; unimplemented for an op without a definition.
Result<std::vector<TensorSpec>> infer(Op op, std::span<const std::optional<TensorSpec>> inputs, const AttrList& attrs);

// The shape that NumPy broadcasting gives. Errors: invalid_argument with both shapes.
Result<std::vector<int64_t>> broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b);

}  // namespace backplane
