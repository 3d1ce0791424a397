// Unary and binary elementwise ops, and where. Integers wrap.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels.hpp"

namespace fake {
namespace {

using backplane::sdk::Error;

// ---- unary

std::string refuse_unary(const NodeView& node) {
  if (std::string why = refuse_form(node, 1); !why.empty()) return why;
  const auto in = node.input(0), out = node.output(0);
  if (!arithmetic(in.dtype())) return refuse_type(in.dtype());
  if (in.dtype() != out.dtype() || !equal(in.shape(), out.shape())) return "input and output differ in type or shape";
  return "";
}

std::string refuse_float_unary(const NodeView& node) {
  if (std::string why = refuse_unary(node); !why.empty()) return why;
  return node.input(0).dtype() == BP_TYPE_F32 ? "" : refuse_type(node.input(0).dtype());
}

template <class Op>
void run_unary(const NodeView&, Operands in, Operands out) {
  const std::vector<int64_t> strides[] = {{in[0].strides.begin(), in[0].strides.end()},
                                          {out[0].strides.begin(), out[0].strides.end()}};
  with_arithmetic(in[0].dtype, [&](auto type) {
    using T = decltype(type);
    for_each_offset(out[0].shape, strides, [&](std::span<const int64_t> at) {
      store<T>(out[0].data + at[1], static_cast<T>(Op::apply(load<T>(in[0].data + at[0]))));
    });
  });
}

// Arithmetic that wraps for integers and is plain for floats.
template <class T, class Op>
T wrapping(T a, T b, const Op& op) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(op(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return op(a, b);
  }
}

struct Neg {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return wrapping(T{0}, x, std::minus<>());
    return -x;
  }
};
struct Abs {
  template <class T>
  static T apply(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? Neg::apply(x) : x;
    return std::fabs(x);
  }
};
struct Relu {
  template <class T>
  static T apply(T x) {
    return x < T{0} ? T{0} : x;
  }
};
struct Sigmoid {
  template <class T>
  static double apply(T x) {
    return 1.0 / (1.0 + std::exp(-static_cast<double>(x)));
  }
};
struct Exp {
  template <class T>
  static double apply(T x) {
    return std::exp(static_cast<double>(x));
  }
};
struct Tanh {
  template <class T>
  static double apply(T x) {
    return std::tanh(static_cast<double>(x));
  }
};
struct Sqrt {
  template <class T>
  static double apply(T x) {
    return std::sqrt(static_cast<double>(x));
  }
};

// ---- binary

std::string refuse_binary(const NodeView& node) {
  if (std::string why = refuse_form(node, 2); !why.empty()) return why;
  const auto out = node.output(0);
  if (!arithmetic(out.dtype())) return refuse_type(out.dtype());
  for (uint32_t i = 0; i < 2; ++i)
    if (node.input(i).dtype() != out.dtype() || !broadcasts(node.input(i).shape(), out.shape()))
      return "input " + std::to_string(i) + " differs in type or does not broadcast to the output";
  return "";
}

template <class Op>
void run_binary(const NodeView&, Operands in, Operands out) {
  const std::vector<int64_t> strides[] = {broadcast_strides(in[0], out[0].shape),
                                          broadcast_strides(in[1], out[0].shape),
                                          {out[0].strides.begin(), out[0].strides.end()}};
  with_arithmetic(out[0].dtype, [&](auto type) {
    using T = decltype(type);
    for_each_offset(out[0].shape, strides, [&](std::span<const int64_t> at) {
      store<T>(out[0].data + at[2], Op::apply(load<T>(in[0].data + at[0]), load<T>(in[1].data + at[1])));
    });
  });
}

struct Add {
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, std::plus<>());
  }
};
struct Sub {
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, std::minus<>());
  }
};
struct Mul {
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, std::multiplies<>());
  }
};
struct Div {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) throw Error(BP_E_DATA, "integer division by zero");
      if (b == -1) return Neg::apply(a);
    }
    return a / b;
  }
};
// A NaN in either operand wins, as in NumPy.
struct Min {
  template <class T>
  static T apply(T a, T b) {
    return a != a || a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T apply(T a, T b) {
    return a != a || a > b ? a : b;
  }
};

// ---- where

std::string refuse_where(const NodeView& node) {
  if (std::string why = refuse_form(node, 3); !why.empty()) return why;
  const auto out = node.output(0);
  if (!plain(out.dtype())) return refuse_type(out.dtype());
  if (node.input(0).dtype() != BP_TYPE_BOOL) return "the condition is not bool";
  for (uint32_t i = 0; i < 3; ++i)
    if ((i != 0 && node.input(i).dtype() != out.dtype()) || !broadcasts(node.input(i).shape(), out.shape()))
      return "input " + std::to_string(i) + " differs in type or does not broadcast to the output";
  return "";
}

void run_where(const NodeView&, Operands in, Operands out) {
  std::vector<std::vector<int64_t>> strides;
  for (const Operand& operand : in) strides.push_back(broadcast_strides(operand, out[0].shape));
  strides.push_back(broadcast_strides(out[0], out[0].shape));
  const size_t bytes = element_bytes(out[0].dtype);
  for_each_offset(out[0].shape, strides, [&](std::span<const int64_t> at) {
    const size_t chosen = load<uint8_t>(in[0].data + at[0]) != 0 ? 1 : 2;
    std::memmove(out[0].data + at[3], in[chosen].data + at[chosen], bytes);
  });
}

constexpr Kernel kNeg{"neg", refuse_unary, run_unary<Neg>, true};
constexpr Kernel kAbs{"abs", refuse_unary, run_unary<Abs>, true};
constexpr Kernel kRelu{"relu", refuse_unary, run_unary<Relu>, true};
constexpr Kernel kSigmoid{"sigmoid", refuse_float_unary, run_unary<Sigmoid>, true};
constexpr Kernel kExp{"exp", refuse_float_unary, run_unary<Exp>, true};
constexpr Kernel kTanh{"tanh", refuse_float_unary, run_unary<Tanh>, true};
constexpr Kernel kSqrt{"sqrt", refuse_float_unary, run_unary<Sqrt>, true};
constexpr Kernel kAdd{"add", refuse_binary, run_binary<Add>, true};
constexpr Kernel kSub{"sub", refuse_binary, run_binary<Sub>, true};
constexpr Kernel kMul{"mul", refuse_binary, run_binary<Mul>, true};
constexpr Kernel kDiv{"div", refuse_binary, run_binary<Div>, true};
constexpr Kernel kMin{"min", refuse_binary, run_binary<Min>, true};
constexpr Kernel kMax{"max", refuse_binary, run_binary<Max>, true};
constexpr Kernel kWhere{"where", refuse_where, run_where, true};

}  // namespace

const Kernel* find_unary(uint32_t op) {
  switch (op) {
    case BP_OP_NEG:
      return &kNeg;
    case BP_OP_ABS:
      return &kAbs;
    case BP_OP_RELU:
      return &kRelu;
    case BP_OP_SIGMOID:
      return &kSigmoid;
    case BP_OP_EXP:
      return &kExp;
    case BP_OP_TANH:
      return &kTanh;
    case BP_OP_SQRT:
      return &kSqrt;
    default:
      return nullptr;
  }
}

const Kernel* find_binary(uint32_t op) {
  switch (op) {
    case BP_OP_ADD:
      return &kAdd;
    case BP_OP_SUB:
      return &kSub;
    case BP_OP_MUL:
      return &kMul;
    case BP_OP_DIV:
      return &kDiv;
    case BP_OP_MIN:
      return &kMin;
    case BP_OP_MAX:
      return &kMax;
    case BP_OP_WHERE:
      return &kWhere;
    default:
      return nullptr;
  }
}

}  // namespace fake
