// StandardFunctions: ops of ONNX's own op sets that the standard defines by other ops, as functions.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/inference.hpp"
#include "model.hpp"

namespace backplane::onnx_import {

// Whether the standard has a function for the node's op, in the versions that `opsets` names.
bool has_standard_function(const NodeDef& node, const Opsets& opsets);

// The function, from libonnx: some depend on the node's attributes and on the types of its inputs (nullopt = absent).
// Nullopt if there is none for these. Thread safety: from any thread.
Result<std::optional<FunctionDef>> standard_function(const NodeDef& node, const Opsets& opsets,
                                                     std::span<const std::optional<TensorSpec>> inputs);

}  // namespace backplane::onnx_import
