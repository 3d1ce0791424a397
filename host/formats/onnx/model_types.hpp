// ONNX's numbers for element types. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "backplane/graph/types.hpp"

namespace backplane::onnx_import {

// The type that TensorProto.DataType `number` means; nullopt if Backplane has it not (strings, complex, float8 ...).
std::optional<DType> dtype_of_onnx(int64_t number);

}  // namespace backplane::onnx_import
