#include "kernels/convert.hpp"

#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/element_types.hpp"

namespace backplane_cpu {
namespace {

template <class From, class To>
To convert_one(From value) {
  constexpr bool from_float = std::is_floating_point_v<From>;
  if constexpr (kIsHalf<From>) {
    return to_float(value);
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (kIsHalf<To>) {
    float rounded;
    if constexpr (std::is_same_v<From, float>) {
      rounded = value;
    } else {
      rounded = round_to_odd(static_cast<double>(value));
    }
    if constexpr (std::is_same_v<To, F16>) {
      return to_f16(rounded);
    } else {
      return to_bf16(rounded);
    }
  } else if constexpr (from_float && std::is_integral_v<To>) {
    // Both bounds are exact in From: the lowest value, and one more than the highest.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From high = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * From{2};
    if (value != value) return To{0};
    if (value <= low) return std::numeric_limits<To>::min();
    return value >= high ? std::numeric_limits<To>::max() : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_run(const void* from, void* to, int64_t count) {
  if constexpr (std::is_same_v<From, To>) {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count) * sizeof(To));
  } else {
    const From* __restrict source = static_cast<const From*>(from);
    To* __restrict target = static_cast<To*>(to);
    int64_t i = 0;
    if constexpr (kIsHalf<From> || (kIsHalf<To> && std::is_same_v<From, float>)) {
      constexpr int64_t kStep = 16;  // a fixed number, of which the compiler makes vectors
      for (; i + kStep <= count; i += kStep)
        for (int64_t j = 0; j < kStep; ++j) target[i + j] = convert_one<From, To>(source[i + j]);
    }
    for (; i < count; ++i) target[i] = convert_one<From, To>(source[i]);
  }
}

template <class From>
ConvertFn narrow_from(uint32_t dtype) {
  switch (dtype) {
    case BP_TYPE_F64:
      return convert_run<From, double>;
    case BP_TYPE_F32:
      return convert_run<From, float>;
    case BP_TYPE_F16:
      return convert_run<From, F16>;
    case BP_TYPE_BF16:
      return convert_run<From, Bf16>;
    case BP_TYPE_I64:
      return convert_run<From, int64_t>;
    case BP_TYPE_I32:
      return convert_run<From, int32_t>;
    case BP_TYPE_I16:
      return convert_run<From, int16_t>;
    case BP_TYPE_I8:
      return convert_run<From, int8_t>;
    case BP_TYPE_U64:
      return convert_run<From, uint64_t>;
    case BP_TYPE_U32:
      return convert_run<From, uint32_t>;
    case BP_TYPE_U16:
      return convert_run<From, uint16_t>;
    case BP_TYPE_U8:
      return convert_run<From, uint8_t>;
    case BP_TYPE_BOOL:
      return convert_run<From, bool>;
    default:
      return nullptr;
  }
}

}  // namespace

ConvertFn widen_function(uint32_t dtype) {
  switch (dtype) {
    case BP_TYPE_F64:
      return convert_run<double, double>;
    case BP_TYPE_F32:
      return convert_run<float, float>;
    case BP_TYPE_F16:
      return convert_run<F16, float>;
    case BP_TYPE_BF16:
      return convert_run<Bf16, float>;
    case BP_TYPE_I64:
      return convert_run<int64_t, int64_t>;
    case BP_TYPE_I32:
      return convert_run<int32_t, int64_t>;
    case BP_TYPE_I16:
      return convert_run<int16_t, int64_t>;
    case BP_TYPE_I8:
      return convert_run<int8_t, int64_t>;
    case BP_TYPE_U64:
      return convert_run<uint64_t, uint64_t>;
    case BP_TYPE_U32:
      return convert_run<uint32_t, int64_t>;
    case BP_TYPE_U16:
      return convert_run<uint16_t, int64_t>;
    case BP_TYPE_U8:
      return convert_run<uint8_t, int64_t>;
    case BP_TYPE_BOOL:
      return convert_run<uint8_t, uint8_t>;
    default:
      return nullptr;
  }
}

ConvertFn narrow_function(Compute from, uint32_t dtype) {
  switch (from) {
    case Compute::kF32:
      return narrow_from<float>(dtype);
    case Compute::kF64:
      return narrow_from<double>(dtype);
    case Compute::kI64:
      return narrow_from<int64_t>(dtype);
    case Compute::kU64:
      return narrow_from<uint64_t>(dtype);
    case Compute::kBool:
      return narrow_from<uint8_t>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace backplane_cpu
