// Unary elementwise ops. Integers wrap.
#include <cmath>

#include "kernels.hpp"

namespace fake {
namespace {

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

constexpr Kernel kNeg{"neg", refuse_unary, run_unary<Neg>, true};
constexpr Kernel kAbs{"abs", refuse_unary, run_unary<Abs>, true};
constexpr Kernel kRelu{"relu", refuse_unary, run_unary<Relu>, true};
constexpr Kernel kSigmoid{"sigmoid", refuse_float_unary, run_unary<Sigmoid>, true};
constexpr Kernel kExp{"exp", refuse_float_unary, run_unary<Exp>, true};
constexpr Kernel kTanh{"tanh", refuse_float_unary, run_unary<Tanh>, true};
constexpr Kernel kSqrt{"sqrt", refuse_float_unary, run_unary<Sqrt>, true};

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

}  // namespace fake
