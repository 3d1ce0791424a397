// Binary ops with broadcasting: one lambda per op and compute type.

#include <cmath>

#include "kernels/broadcast.hpp"
#include "kernels/checks.hpp"
#include "kernels/chunk_vectors.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

// min and max: NaN if either is NaN.
VecF32 propagate_nan(VecF32 a, VecF32 b, VecF32 result) { return keep_nan(a, keep_nan(b, result)); }

ChunkFn arithmetic_f32(uint32_t op) {
  switch (op) {
    case BP_OP_ADD:
      return zip_f32([](VecF32 a, VecF32 b) { return hn::Add(a, b); });
    case BP_OP_SUB:
      return zip_f32([](VecF32 a, VecF32 b) { return hn::Sub(a, b); });
    case BP_OP_MUL:
      return zip_f32([](VecF32 a, VecF32 b) { return hn::Mul(a, b); });
    case BP_OP_DIV:
      return zip_f32([](VecF32 a, VecF32 b) { return hn::Div(a, b); });
    case BP_OP_MIN:
      return zip_f32([](VecF32 a, VecF32 b) { return propagate_nan(a, b, hn::Min(a, b)); });
    case BP_OP_MAX:
      return zip_f32([](VecF32 a, VecF32 b) { return propagate_nan(a, b, hn::Max(a, b)); });
    case BP_OP_MOD:
      return zip<float>([](float a, float b) { return std::fmod(a, b); });
    case BP_OP_PRELU:
      return zip_f32([](VecF32 a, VecF32 b) { return hn::IfThenElse(hn::Lt(a, hn::Zero(F32())), hn::Mul(a, b), a); });
    default:
      return nullptr;
  }
}

ChunkFn arithmetic_f64(uint32_t op) {
  switch (op) {
    case BP_OP_ADD:
      return zip<double>([](double a, double b) { return a + b; });
    case BP_OP_SUB:
      return zip<double>([](double a, double b) { return a - b; });
    case BP_OP_MUL:
      return zip<double>([](double a, double b) { return a * b; });
    case BP_OP_DIV:
      return zip<double>([](double a, double b) { return a / b; });
    case BP_OP_MIN:
      return zip<double>([](double a, double b) { return a != a || a < b ? a : b; });
    case BP_OP_MAX:
      return zip<double>([](double a, double b) { return a != a || a > b ? a : b; });
    case BP_OP_MOD:
      return zip<double>([](double a, double b) { return std::fmod(a, b); });
    case BP_OP_PRELU:
      return zip<double>([](double a, double b) { return a < 0 ? a * b : a; });
    default:
      return nullptr;
  }
}

// Division and remainder that are defined everywhere: by zero gives 0, the lowest value by -1 wraps.
template <class T>
T quotient(T a, T b) {
  if (b == T{0}) return T{0};
  if (b == static_cast<T>(-1) && std::is_signed_v<T>) return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
  return a / b;
}
template <class T>
T remainder_of(T a, T b) {
  return b == T{0} || (b == static_cast<T>(-1) && std::is_signed_v<T>) ? T{0} : a % b;
}
template <class T>
T floor_remainder(T a, T b) {
  const T r = remainder_of(a, b);
  return r != T{0} && (r < T{0}) != (b < T{0}) ? r + b : r;
}
template <class T>
T shift(T a, T b, bool left) {
  const uint64_t bits = static_cast<uint64_t>(a), by = static_cast<uint64_t>(b);
  if (by >= 64) return T{0};
  return static_cast<T>(left ? bits << by : bits >> by);
}

// Integers wrap, so sums and products are formed without a sign.
template <class T>
ChunkFn arithmetic_integer(uint32_t op, bool c_remainder) {
  using U = uint64_t;
  switch (op) {
    case BP_OP_ADD:
      return zip<T>([](T a, T b) { return static_cast<U>(a) + static_cast<U>(b); });
    case BP_OP_SUB:
      return zip<T>([](T a, T b) { return static_cast<U>(a) - static_cast<U>(b); });
    case BP_OP_MUL:
      return zip<T>([](T a, T b) { return static_cast<U>(a) * static_cast<U>(b); });
    case BP_OP_DIV:
      return zip<T>([](T a, T b) { return quotient(a, b); });
    case BP_OP_MIN:
      return zip<T>([](T a, T b) { return a < b ? a : b; });
    case BP_OP_MAX:
      return zip<T>([](T a, T b) { return a > b ? a : b; });
    case BP_OP_MOD:
      if (c_remainder) return zip<T>([](T a, T b) { return remainder_of(a, b); });
      return zip<T>([](T a, T b) { return floor_remainder(a, b); });
    case BP_OP_PRELU:
      return zip<T>([](T a, T b) { return a < T{0} ? static_cast<T>(static_cast<U>(a) * static_cast<U>(b)) : a; });
    case BP_OP_BITWISE_AND:
      return zip<T>([](T a, T b) { return a & b; });
    case BP_OP_BITWISE_OR:
      return zip<T>([](T a, T b) { return a | b; });
    case BP_OP_BITWISE_XOR:
      return zip<T>([](T a, T b) { return a ^ b; });
    case BP_OP_SHIFT_LEFT:
      return zip<T>([](T a, T b) { return shift(a, b, true); });
    case BP_OP_SHIFT_RIGHT:
      return zip<T>([](T a, T b) { return shift(a, b, false); });
    default:
      return nullptr;
  }
}

template <class T>
ChunkFn comparison(uint32_t op) {
  switch (op) {
    case BP_OP_EQ:
      return zip<T, uint8_t>([](T a, T b) { return a == b; });
    case BP_OP_NE:
      return zip<T, uint8_t>([](T a, T b) { return a != b; });
    case BP_OP_LT:
      return zip<T, uint8_t>([](T a, T b) { return a < b; });
    case BP_OP_LE:
      return zip<T, uint8_t>([](T a, T b) { return a <= b; });
    case BP_OP_GT:
      return zip<T, uint8_t>([](T a, T b) { return a > b; });
    case BP_OP_GE:
      return zip<T, uint8_t>([](T a, T b) { return a >= b; });
    default:
      return nullptr;
  }
}

ChunkFn logic(uint32_t op) {
  switch (op) {
    case BP_OP_EQ:
      return zip<uint8_t>([](uint8_t a, uint8_t b) { return (a != 0) == (b != 0); });
    case BP_OP_NE:
    case BP_OP_XOR:
      return zip<uint8_t>([](uint8_t a, uint8_t b) { return (a != 0) != (b != 0); });
    case BP_OP_AND:
      return zip<uint8_t>([](uint8_t a, uint8_t b) { return a != 0 && b != 0; });
    case BP_OP_OR:
      return zip<uint8_t>([](uint8_t a, uint8_t b) { return a != 0 || b != 0; });
    default:
      return nullptr;
  }
}

// ---- pow, the one op of two types

template <class A, class B>
A integer_power(A a, B b) {
  if (b < B{0}) {  // 1/aⁿ, truncated
    if (a == A{1}) return A{1};
    return a == static_cast<A>(-1) && std::is_signed_v<A> ? static_cast<A>((b & B{1}) != B{0} ? -1 : 1) : A{0};
  }
  uint64_t result = 1, base = static_cast<uint64_t>(a);
  for (uint64_t n = static_cast<uint64_t>(b); n != 0; n >>= 1, base *= base)
    if ((n & 1) != 0) result *= base;
  return static_cast<A>(result);
}

// An exponent wider than the base keeps its digits: they decide the sign, and near 1 the value.
template <class A, class B>
A float_power(A a, B b) {
  if (b == B{2}) return a * a;
  if constexpr (std::is_floating_point_v<B>) {
    return static_cast<A>(std::pow(a, b));
  } else {
    const double magnitude = std::pow(std::fabs(static_cast<double>(a)), static_cast<double>(b));
    return static_cast<A>(std::signbit(a) && (b & B{1}) != B{0} ? -magnitude : magnitude);
  }
}

// Of an integer and a float the f64 result is cast to the integer's type when it is written.
template <class A, class B>
ChunkFn power() {
  if constexpr (std::is_floating_point_v<A>) return zip<A, A, B>([](A a, B b) { return float_power(a, b); });
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>)
    return zip<A, A, B>([](A a, B b) { return integer_power(a, b); });
  return zip<A, double, B>([](A a, B b) { return std::pow(static_cast<double>(a), static_cast<double>(b)); });
}

template <class A>
ChunkFn power_of(Compute exponent) {
  switch (exponent) {
    case Compute::kF32:
      return power<A, float>();
    case Compute::kF64:
      return power<A, double>();
    case Compute::kI64:
      return power<A, int64_t>();
    case Compute::kU64:
      return power<A, uint64_t>();
    default:
      return nullptr;
  }
}

ChunkFn power_function(Compute base, Compute exponent) {
  switch (base) {
    case Compute::kF32:
      return power_of<float>(exponent);
    case Compute::kF64:
      return power_of<double>(exponent);
    case Compute::kI64:
      return power_of<int64_t>(exponent);
    case Compute::kU64:
      return power_of<uint64_t>(exponent);
    default:
      return nullptr;
  }
}

bool is_comparison(uint32_t op) { return op >= BP_OP_EQ && op <= BP_OP_GE; }

ChunkFn select(uint32_t op, Compute compute, bool c_remainder) {
  const bool compares = is_comparison(op);
  switch (compute) {
    case Compute::kF32:
      return compares ? comparison<float>(op) : arithmetic_f32(op);
    case Compute::kF64:
      return compares ? comparison<double>(op) : arithmetic_f64(op);
    case Compute::kI64:
      return compares ? comparison<int64_t>(op) : arithmetic_integer<int64_t>(op, c_remainder);
    case Compute::kU64:
      return compares ? comparison<uint64_t>(op) : arithmetic_integer<uint64_t>(op, c_remainder);
    case Compute::kBool:
      return logic(op);
    default:
      return nullptr;
  }
}

void check_types(const NodeView& node, bool c_remainder) {
  const uint32_t op = node.op();
  const TensorView a = node.input(0), b = node.input(1), y = node.output(0);
  if (op != BP_OP_POW) check_type(b, b.dtype() == a.dtype(), "the type of input 0");
  if (op == BP_OP_MOD && !c_remainder) check_type(a, is_integer(a.dtype()), "an integer, or fmod = 1");
  if (op == BP_OP_SHIFT_LEFT || op == BP_OP_SHIFT_RIGHT) check_type(a, is_unsigned(a.dtype()), "an unsigned integer");
  if (is_comparison(op)) {
    check_type(y, y.dtype() == BP_TYPE_BOOL, "bool");
  } else {
    check_type(y, y.dtype() == a.dtype(), "the type of input 0");
  }
}

}  // namespace

Prepared prepare_binary(const NodeView& node) {
  const uint32_t op = node.op();
  check_signature(node, 2, 2, 1, {op == BP_OP_MOD ? uint32_t{BP_ATTR_FMOD} : 0u});
  const bool c_remainder = op == BP_OP_MOD && node.i64(BP_ATTR_FMOD, 0) != 0;
  check_types(node, c_remainder);
  check_broadcast(node);
  if (op == BP_OP_PRELU) check_shape(node.input(0), node.output(0).shape());
  const Compute compute = compute_of(node.input(0).dtype());
  const ChunkFn function =
      op == BP_OP_POW ? power_function(compute, compute_of(node.input(1).dtype())) : select(op, compute, c_remainder);
  check_type(node.input(0), function != nullptr, "another for this op");
  const bool real_power = op == BP_OP_POW && is_integer(node.input(0).dtype()) && is_float(node.input(1).dtype());
  const Compute result = is_comparison(op) ? Compute::kBool : real_power ? Compute::kF64 : compute;
  return {std::make_unique<ElementwiseKernel>(node, result, function), {}, is_comparison(op) ? 0u : 3u};
}

}  // namespace backplane_cpu
