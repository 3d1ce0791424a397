// Binary ops and `where`, with NumPy broadcasting.
#include <cstring>

#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

// y = f(a, b) elementwise; the result type of f decides what is stored.
template <class A, class B, class F>
Outputs elementwise(const Call& call, F f) {
  const std::vector<A> a = load<A>(call.input(0));
  const std::vector<B> b = load<B>(call.input(1));
  const Shape& shape = call.output().shape;
  std::vector<decltype(f(A{}, B{}))> y;
  y.reserve(static_cast<size_t>(product(shape)));
  const std::array strides{broadcast_strides(call.input(0).shape(), shape),
                           broadcast_strides(call.input(1).shape(), shape)};
  walk(shape, strides, [&](const std::array<int64_t, 2>& at) {
    y.push_back(f(a[static_cast<size_t>(at[0])], b[static_cast<size_t>(at[1])]));
  });
  return single(store(call.output(), y));
}

template <class V>
V shift_left(V a, V b) {
  return b < 64 ? static_cast<V>(static_cast<uint64_t>(a) << b) : 0;
}

template <class V>
V shift_right(V a, V b) {
  return b < 64 ? a >> b : 0;
}

// Remainder of division towards zero for fmod, towards negative infinity otherwise.
template <class V>
V remainder(V a, V b, bool fmod) {
  if constexpr (std::is_floating_point_v<V>) {
    return std::fmod(a, b);
  } else {
    if (b == 0 || b == static_cast<V>(-1)) return b == 0 || std::is_signed_v<V> ? 0 : a % b;
    const V rest = a % b;
    return !fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}

// Double, and so cast as a float when stored, for an integer base with a float exponent.
template <class A, class B>
auto power(A base, B exponent) -> std::conditional_t<std::is_floating_point_v<B>, double, A> {
  if constexpr (std::is_floating_point_v<A> && std::is_integral_v<B>) {
    const double magnitude = std::pow(std::fabs(base), static_cast<double>(exponent));
    return std::signbit(base) && exponent % 2 != 0 ? -magnitude : magnitude;  // the parity is lost beyond 2^53
  } else if constexpr (std::is_floating_point_v<B>) {
    return std::pow(static_cast<double>(base), exponent);
  } else {
    if (exponent < 0) {  // the reciprocal: 0 by the rule for division by zero, or truncated to 0, unless |base| is 1
      if (base == 1) return 1;
      return std::is_signed_v<A> && base == static_cast<A>(-1) ? (exponent % 2 != 0 ? base : 1) : 0;
    }
    A result = 1;
    for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
      if ((left & 1) != 0) result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
}

template <class V>
Outputs arithmetic(const Call& call) {
  switch (call.op) {
    case Op::kADD:
      return elementwise<V, V>(call, add<V>);
    case Op::kSUB:
      return elementwise<V, V>(call, subtract<V>);
    case Op::kMUL:
      return elementwise<V, V>(call, multiply<V>);
    case Op::kDIV:
      return elementwise<V, V>(call, divide<V>);
    case Op::kMIN:
      return elementwise<V, V>(call, minimum<V>);
    case Op::kMAX:
      return elementwise<V, V>(call, maximum<V>);
    case Op::kPRELU:
      return elementwise<V, V>(call, [](V a, V b) { return a < 0 ? multiply(a, b) : a; });
    case Op::kMOD: {
      const bool fmod = call.attrs.i64(BP_ATTR_FMOD, 0) != 0;
      return elementwise<V, V>(call, [=](V a, V b) { return remainder(a, b, fmod); });
    }
    default:
      return no_definition(call.op);
  }
}

template <class V>
Outputs comparison(const Call& call) {
  switch (call.op) {
    case Op::kEQ:
      return elementwise<V, V>(call, [](V a, V b) { return uint64_t{a == b}; });
    case Op::kNE:
      return elementwise<V, V>(call, [](V a, V b) { return uint64_t{a != b}; });
    case Op::kLT:
      return elementwise<V, V>(call, [](V a, V b) { return uint64_t{a < b}; });
    case Op::kLE:
      return elementwise<V, V>(call, [](V a, V b) { return uint64_t{a <= b}; });
    case Op::kGT:
      return elementwise<V, V>(call, [](V a, V b) { return uint64_t{a > b}; });
    case Op::kGE:
      return elementwise<V, V>(call, [](V a, V b) { return uint64_t{a >= b}; });
    default:
      return no_definition(call.op);
  }
}

// and, or, xor of bool are those of the bits 0 and 1.
Outputs bits(const Call& call) {
  using V = uint64_t;
  const auto run = [&](auto f) {
    if (!is_signed_integer(call.input(0).dtype())) return elementwise<V, V>(call, f);
    return elementwise<int64_t, int64_t>(call, f);
  };
  switch (call.op) {
    case Op::kAND:
    case Op::kBITWISE_AND:
      return run([](auto a, auto b) { return a & b; });
    case Op::kOR:
    case Op::kBITWISE_OR:
      return run([](auto a, auto b) { return a | b; });
    case Op::kXOR:
    case Op::kBITWISE_XOR:
      return run([](auto a, auto b) { return a ^ b; });
    case Op::kSHIFT_LEFT:
      return elementwise<V, V>(call, shift_left<V>);
    case Op::kSHIFT_RIGHT:
      return elementwise<V, V>(call, shift_right<V>);
    default:
      return no_definition(call.op);
  }
}

Outputs pow(const Call& call) {
  return with_domain(call.input(0).dtype(), [&](auto base) {
    return with_domain(call.input(1).dtype(), [&](auto exponent) {
      using A = decltype(base);
      using B = decltype(exponent);
      return elementwise<A, B>(call, power<A, B>);
    });
  });
}

Outputs where(const Call& call) {
  BP_TRY_ASSIGN(HostTensor y, HostTensor::zeros(call.output().dtype, call.output().shape));
  std::array<Shape, 3> strides;
  for (size_t i = 0; i < 3; ++i) strides[i] = broadcast_strides(call.input(i).shape(), y.shape());
  const size_t width = type_layout(y.dtype()).block_bytes;
  std::byte* to = y.mutable_bytes().data();
  walk(y.shape(), strides, [&](const std::array<int64_t, 3>& at) {
    const size_t chosen = call.input(0).bytes()[static_cast<size_t>(at[0])] != std::byte{0} ? 1 : 2;
    std::memcpy(to, call.input(chosen).bytes().data() + static_cast<size_t>(at[chosen]) * width, width);
    to += width;
  });
  return single(std::move(y));
}

}  // namespace

Outputs binary(const Call& call) {
  if (call.op == Op::kWHERE) return where(call);
  if (call.op == Op::kPOW) return pow(call);
  if (call.op >= Op::kAND && call.op <= Op::kSHIFT_RIGHT) return bits(call);
  return with_domain(call.input(0).dtype(), [&](auto domain) {
    using V = decltype(domain);
    return call.op >= Op::kEQ && call.op <= Op::kGE ? comparison<V>(call) : arithmetic<V>(call);
  });
}

}  // namespace backplane::reference
