#include "tensor_elements.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "backplane/base/text.hpp"

namespace backplane::cli {
namespace {

constexpr int kHalfMantissaBits = 10;
constexpr int kHalfMinExponent = -14;
constexpr uint16_t kHalfInfinity = 0x7c00;

// Rounds to the nearest half, ties to even; beyond the largest it becomes infinity.
uint16_t half_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return kHalfInfinity | 0x200;
  if (size >= 65520.0) return sign | kHalfInfinity;
  if (size == 0) return sign;
  const int exponent = std::max(std::ilogb(size), kHalfMinExponent);
  // nearbyint rounds to even; a mantissa that rounds up to 2048 carries into the exponent by itself.
  const auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, kHalfMantissaBits - exponent)));
  const uint32_t biased = static_cast<uint32_t>(exponent - kHalfMinExponent) << kHalfMantissaBits;
  return static_cast<uint16_t>(sign | (biased + mantissa));
}

uint16_t bfloat_bits(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class T>
Status set_integer(HostTensor& tensor, int64_t index, const Json& value) {
  if (!value.is(Json::Kind::integer))
    return invalid_argument(cat("wanted ", type_name(tensor.dtype()), ", found ", value.kind_name()));
  const int64_t number = value.as_integer();
  const bool too_low =
      std::is_unsigned_v<T> ? number < 0 : number < static_cast<int64_t>(std::numeric_limits<T>::min());
  const bool too_high = sizeof(T) < 8 && number > static_cast<int64_t>(std::numeric_limits<T>::max());
  if (too_low || too_high) return invalid_argument(cat(number, " does not fit ", type_name(tensor.dtype())));
  tensor.mutable_data<T>()[index] = static_cast<T>(number);
  return ok_status();
}

Status set_float(HostTensor& tensor, int64_t index, const Json& value) {
  if (!value.is(Json::Kind::integer) && !value.is(Json::Kind::number))
    return invalid_argument(cat("wanted ", type_name(tensor.dtype()), ", found ", value.kind_name()));
  const double number = value.as_number();
  switch (tensor.dtype()) {
    case DType::kF64:
      tensor.mutable_data<double>()[index] = number;
      break;
    case DType::kF16:
      tensor.mutable_data<uint16_t>()[index] = half_bits(number);
      break;
    case DType::kBF16:
      tensor.mutable_data<uint16_t>()[index] = bfloat_bits(number);
      break;
    default:
      tensor.mutable_data<float>()[index] = static_cast<float>(number);
  }
  return ok_status();
}

Status set_bool(HostTensor& tensor, int64_t index, const Json& value) {
  const bool number = value.is(Json::Kind::integer) && (value.as_integer() == 0 || value.as_integer() == 1);
  if (!number && !value.is(Json::Kind::boolean)) return invalid_argument("neither true, false, 0 nor 1 for a bool");
  tensor.mutable_data<uint8_t>()[index] = number ? value.as_integer() == 1 : value.as_boolean();
  return ok_status();
}

}  // namespace

Status set_element(HostTensor& tensor, int64_t index, const Json& value) {
  switch (tensor.dtype()) {
    case DType::kI64:
      return set_integer<int64_t>(tensor, index, value);
    case DType::kI32:
      return set_integer<int32_t>(tensor, index, value);
    case DType::kI16:
      return set_integer<int16_t>(tensor, index, value);
    case DType::kI8:
      return set_integer<int8_t>(tensor, index, value);
    case DType::kU64:
      return set_integer<uint64_t>(tensor, index, value);
    case DType::kU32:
      return set_integer<uint32_t>(tensor, index, value);
    case DType::kU16:
      return set_integer<uint16_t>(tensor, index, value);
    case DType::kU8:
      return set_integer<uint8_t>(tensor, index, value);
    case DType::kBOOL:
      return set_bool(tensor, index, value);
    default:
      return set_float(tensor, index, value);
  }
}

}  // namespace backplane::cli
