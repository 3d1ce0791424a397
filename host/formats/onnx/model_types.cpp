#include "model_types.hpp"

namespace backplane::onnx_import {

std::optional<DType> dtype_of_onnx(int64_t number) {
  switch (number) {
    case 1:
      return DType::kF32;
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    case 6:
      return DType::kI32;
    case 7:
      return DType::kI64;
    case 9:
      return DType::kBOOL;
    case 10:
      return DType::kF16;
    case 11:
      return DType::kF64;
    case 12:
      return DType::kU32;
    case 13:
      return DType::kU64;
    case 16:
      return DType::kBF16;
    default:
      return std::nullopt;
  }
}

int64_t onnx_of_dtype(DType dtype) {
  constexpr int64_t kNewestNumber = 16;
  for (int64_t number = 1; number <= kNewestNumber; ++number) {
    if (dtype_of_onnx(number) == dtype) return number;
  }
  return 0;
}

}  // namespace backplane::onnx_import
