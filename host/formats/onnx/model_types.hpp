// ONNX's numbers for element types. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "backplane/graph/types.hpp"

namespace backplane::onnx_import {

inline constexpr int64_t kOnnxString = 8;

// The type that TensorProto.DataType `number` means; nullopt if Backplane has it not (strings, complex, float8 ...).
std::optional<DType> dtype_of_onnx(int64_t number);
// The other way round; 0, ONNX's "undefined", for types that ONNX has not.
int64_t onnx_of_dtype(DType dtype);

}  // namespace backplane::onnx_import
