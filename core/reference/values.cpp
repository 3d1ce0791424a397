#include "values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "blocks.hpp"

namespace backplane::reference {
namespace {

// The 16-bit IEEE-style formats, which C++20 has no types for.
template <int kExponentBits, int kFractionBits>
struct Narrow {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint16_t kInfinity = static_cast<uint16_t>(((1 << kExponentBits) - 1) << kFractionBits);
  uint16_t bits;

  double value() const {
    const int exponent = (bits & kInfinity) >> kFractionBits;
    const int fraction = bits & ((1 << kFractionBits) - 1);
    double magnitude;
    if ((bits & kInfinity) == kInfinity)
      magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
      magnitude = std::ldexp(fraction, 1 - kBias - kFractionBits);
    else
      magnitude = std::ldexp(fraction + (1 << kFractionBits), exponent - kBias - kFractionBits);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  }

  // Rounds to nearest even, straight from double: going through float would round twice.
  static Narrow from(double x) {
    const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x)) return {static_cast<uint16_t>(sign | kInfinity | (1 << (kFractionBits - 1)))};
    if (std::isinf(x)) return {static_cast<uint16_t>(sign | kInfinity)};
    if (x == 0) return {sign};  // has no exponent
    int exponent = 0;
    std::frexp(x, &exponent);
    exponent = std::max(exponent - 1, 1 - kBias);
    // Normal numbers: quanta in [2^F, 2^(F+1)]; a carry out of the fraction runs into the exponent field as it should.
    const auto quanta = static_cast<int64_t>(std::nearbyint(std::ldexp(std::fabs(x), kFractionBits - exponent)));
    if (exponent > kBias) return {static_cast<uint16_t>(sign | kInfinity)};
    const int64_t magnitude = (static_cast<int64_t>(exponent + kBias - 1) << kFractionBits) + quanta;
    return {static_cast<uint16_t>(sign | std::min<int64_t>(magnitude, kInfinity))};
  }
};
using Float16 = Narrow<5, 10>;
using BFloat16 = Narrow<8, 7>;
struct Bool {
  uint8_t byte;
};

template <class T>
constexpr bool kIsNarrow = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class F>
void with_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF64:
      return f(double{});
    case DType::kF32:
      return f(float{});
    case DType::kF16:
      return f(Float16{});
    case DType::kBF16:
      return f(BFloat16{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kBOOL:
      return f(Bool{});
    default:
      return;  // block-quantised: not an element at a time
  }
}

// An integer as a double with a sticky last bit, so that rounding it to a narrower float rounds once.
template <class V>
double sticky_double(V x) {
  const bool negative = x < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  const int dropped = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  uint64_t kept = magnitude >> dropped;
  if ((kept << dropped) != magnitude) kept |= 1;
  const double value = std::ldexp(static_cast<double>(kept), dropped);
  return negative ? -value : value;
}

template <class V, class T>
V decode(T element) {
  if constexpr (kIsNarrow<T>)
    return static_cast<V>(element.value());
  else if constexpr (std::is_same_v<T, Bool>)
    return static_cast<V>(element.byte != 0 ? 1 : 0);
  else
    return static_cast<V>(element);
}

template <class T, class V>
T encode(V value) {
  if constexpr (std::is_same_v<T, Bool>) {
    return Bool{static_cast<uint8_t>(value != 0 ? 1 : 0)};
  } else if constexpr (kIsNarrow<T>) {
    if constexpr (std::is_floating_point_v<V>) return T::from(value);
    return T::from(sticky_double(value));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<V>) {
    return truncate<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class V, bool kLowest>
V extreme(DType dtype) {
  V value{};
  with_element_type(dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, Bool>)
      value = static_cast<V>(kLowest ? 0 : 1);
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<V>(kLowest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
    else if constexpr (std::is_floating_point_v<V>)
      value = kLowest ? -std::numeric_limits<V>::infinity() : std::numeric_limits<V>::infinity();
  });
  return value;
}

}  // namespace

template <class V>
std::vector<V> load(const HostTensor& x) {
  if constexpr (std::is_same_v<V, double>)
    if (!is_plain(x.dtype())) return load_blocks(x);
  std::vector<V> values(static_cast<size_t>(x.elements()));
  const std::byte* from = x.bytes().data();  // borrowed bytes may be unaligned
  with_element_type(x.dtype(), [&](auto element) {
    for (V& value : values) {
      std::memcpy(&element, from, sizeof element);
      from += sizeof element;
      value = decode<V>(element);
    }
  });
  return values;
}

template <class V>
Result<HostTensor> store(const TensorSpec& spec, const std::vector<V>& values) {
  if constexpr (std::is_same_v<V, double>)
    if (!is_plain(spec.dtype)) return store_blocks(spec, values);
  BP_TRY_ASSIGN(HostTensor tensor, HostTensor::zeros(spec.dtype, spec.shape));
  std::byte* to = tensor.mutable_bytes().data();
  with_element_type(spec.dtype, [&](auto type) {
    using T = decltype(type);
    for (const V& value : values) {
      const T element = encode<T>(value);
      std::memcpy(to, &element, sizeof element);
      to += sizeof element;
    }
  });
  return tensor;
}

template <class V>
V lowest(DType dtype) {
  return extreme<V, true>(dtype);
}

template <class V>
V highest(DType dtype) {
  return extreme<V, false>(dtype);
}

bool is_signed_integer(DType dtype) {
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kI16 || dtype == DType::kI8;
}

double f16_value(uint16_t bits) { return Float16{bits}.value(); }
uint16_t f16_bits(double value) { return Float16::from(value).bits; }

template std::vector<double> load(const HostTensor&);
template std::vector<int64_t> load(const HostTensor&);
template std::vector<uint64_t> load(const HostTensor&);
template Result<HostTensor> store(const TensorSpec&, const std::vector<double>&);
template Result<HostTensor> store(const TensorSpec&, const std::vector<int64_t>&);
template Result<HostTensor> store(const TensorSpec&, const std::vector<uint64_t>&);
template double lowest(DType);
template int64_t lowest(DType);
template uint64_t lowest(DType);
template double highest(DType);
template int64_t highest(DType);
template uint64_t highest(DType);

}  // namespace backplane::reference
