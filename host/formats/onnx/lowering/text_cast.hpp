// Casts between strings and numbers, both known at import. Thread safety: as the context.
#pragma once

#include "node_context.hpp"

namespace backplane::onnx_import {

// Numbers from strings in plain or scientific notation; INF, +INF, -INF and NaN in any case. Errors: invalid_argument
// for a string that is no number of the type; unimplemented for bools, for which ONNX says nothing.
Result<TensorId> cast_from_text(NodeContext& c, TensorId strings, DType dtype);

// The shortest plain notation that reads back as the same number. Errors: as Emitter::constant_value; unimplemented
// for bools and 16-bit floats.
Result<TensorId> cast_to_text(NodeContext& c, TensorId x);

}  // namespace backplane::onnx_import
