#include "backplane/graph/element.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64);

constexpr int kHalfMantissaBits = 10;
constexpr int kHalfMinExponent = -14;

long double half_value(uint16_t bits) {
  const int exponent = bits >> kHalfMantissaBits & 0x1f;
  const int mantissa = bits & 0x3ff;
  long double value;
  if (exponent == 0x1f)
    value =
        mantissa == 0 ? std::numeric_limits<long double>::infinity() : std::numeric_limits<long double>::quiet_NaN();
  else if (exponent == 0)
    value = std::ldexp(static_cast<long double>(mantissa), kHalfMinExponent - kHalfMantissaBits);
  else
    value = std::ldexp(static_cast<long double>(mantissa + 0x400), exponent - 15 - kHalfMantissaBits);
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace

long double element(const HostTensor& tensor, int64_t index) {
  switch (tensor.dtype()) {
    case DType::kF64:
      return tensor.data<double>()[index];
    case DType::kF32:
      return tensor.data<float>()[index];
    case DType::kF16:
      return half_value(tensor.data<uint16_t>()[index]);
    case DType::kBF16:
      return std::bit_cast<float>(static_cast<uint32_t>(tensor.data<uint16_t>()[index]) << 16);
    case DType::kI64:
      return static_cast<long double>(tensor.data<int64_t>()[index]);
    case DType::kI32:
      return tensor.data<int32_t>()[index];
    case DType::kI16:
      return tensor.data<int16_t>()[index];
    case DType::kI8:
      return tensor.data<int8_t>()[index];
    case DType::kU64:
      return static_cast<long double>(tensor.data<uint64_t>()[index]);
    case DType::kU32:
      return tensor.data<uint32_t>()[index];
    case DType::kU16:
      return tensor.data<uint16_t>()[index];
    case DType::kU8:
    case DType::kBOOL:
      return tensor.data<uint8_t>()[index];
    default:
      return std::numeric_limits<long double>::quiet_NaN();
  }
}

std::string index_text(const HostTensor& tensor, int64_t index) {
  std::vector<int64_t> position(tensor.shape().size());
  for (size_t axis = position.size(); axis-- > 0;) {
    position[axis] = index % tensor.shape()[axis];
    index /= tensor.shape()[axis];
  }
  return shape_text(position);
}

}  // namespace backplane
