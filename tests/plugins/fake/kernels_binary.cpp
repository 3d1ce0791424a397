// Binary elementwise ops, comparisons, and where. Integers wrap.
#include <cstring>
#include <functional>

#include "kernels.hpp"

namespace fake {
namespace {

using backplane::sdk::Error;

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
      if (b == -1) return wrapping(T{0}, a, std::minus<>());
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

// ---- bits

std::string refuse_bits(const NodeView& node) {
  if (std::string why = refuse_binary(node); !why.empty()) return why;
  return node.output(0).dtype() == BP_TYPE_F32 ? refuse_type(BP_TYPE_F32) : "";
}

template <class Op>
struct Bitwise {
  static float apply(float a, float /*b*/) { return a; }  // refuse_bits lets no float through
  template <class T>
  static T apply(T a, T b) {
    return wrapping(a, b, Op{});
  }
};

// ---- comparisons

std::string refuse_comparison(const NodeView& node) {
  if (std::string why = refuse_form(node, 2); !why.empty()) return why;
  const auto a = node.input(0), b = node.input(1), out = node.output(0);
  if (!arithmetic(a.dtype())) return refuse_type(a.dtype());
  if (b.dtype() != a.dtype() || out.dtype() != BP_TYPE_BOOL)
    return "the inputs differ in type, or the output is not bool";
  return broadcasts(a.shape(), out.shape()) && broadcasts(b.shape(), out.shape())
             ? ""
             : "an input does not broadcast to the output";
}

template <class Op>
void run_comparison(const NodeView&, Operands in, Operands out) {
  const std::vector<int64_t> strides[] = {broadcast_strides(in[0], out[0].shape),
                                          broadcast_strides(in[1], out[0].shape),
                                          {out[0].strides.begin(), out[0].strides.end()}};
  with_arithmetic(in[0].dtype, [&](auto type) {
    using T = decltype(type);
    for_each_offset(out[0].shape, strides, [&](std::span<const int64_t> at) {
      store<uint8_t>(out[0].data + at[2], Op{}(load<T>(in[0].data + at[0]), load<T>(in[1].data + at[1])) ? 1 : 0);
    });
  });
}

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

constexpr Kernel kAdd{"add", refuse_binary, run_binary<Add>, true};
constexpr Kernel kSub{"sub", refuse_binary, run_binary<Sub>, true};
constexpr Kernel kMul{"mul", refuse_binary, run_binary<Mul>, true};
constexpr Kernel kDiv{"div", refuse_binary, run_binary<Div>, true};
constexpr Kernel kMin{"min", refuse_binary, run_binary<Min>, true};
constexpr Kernel kMax{"max", refuse_binary, run_binary<Max>, true};
constexpr Kernel kBitwiseAnd{"bitwise_and", refuse_bits, run_binary<Bitwise<std::bit_and<>>>, true};
constexpr Kernel kBitwiseOr{"bitwise_or", refuse_bits, run_binary<Bitwise<std::bit_or<>>>, true};
constexpr Kernel kBitwiseXor{"bitwise_xor", refuse_bits, run_binary<Bitwise<std::bit_xor<>>>, true};
constexpr Kernel kEq{"eq", refuse_comparison, run_comparison<std::equal_to<>>, false};
constexpr Kernel kLt{"lt", refuse_comparison, run_comparison<std::less<>>, false};
constexpr Kernel kGt{"gt", refuse_comparison, run_comparison<std::greater<>>, false};
constexpr Kernel kWhere{"where", refuse_where, run_where, true};

}  // namespace

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
    case BP_OP_BITWISE_AND:
      return &kBitwiseAnd;
    case BP_OP_BITWISE_OR:
      return &kBitwiseOr;
    case BP_OP_BITWISE_XOR:
      return &kBitwiseXor;
    case BP_OP_EQ:
      return &kEq;
    case BP_OP_LT:
      return &kLt;
    case BP_OP_GT:
      return &kGt;
    default:
      return nullptr;
  }
}

}  // namespace fake
