// Unary ops: one lambda per op and compute type.

#include <cmath>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/chunk_vectors.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;

// ---- f32, vectorised

VecF32 elu_f32(VecF32 x, double alpha) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Mul(set_f32(alpha), expm1_f32(x)), x);
}

VecF32 celu_f32(VecF32 x, double alpha) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Mul(set_f32(alpha), expm1_f32(hn::Div(x, set_f32(alpha)))), x);
}

// max(0, min(1, x)); NaN stays.
VecF32 clamp_unit(VecF32 x) { return keep_nan(x, hn::Max(hn::Zero(F32()), hn::Min(set_f32(1), x))); }

VecF32 gelu_tanh_f32(VecF32 x) {  // 0.5·(1 + tanh y) = sigmoid(2·y)
  const VecF32 cube = hn::Mul(hn::Mul(x, x), x);
  const VecF32 y = hn::Mul(set_f32(2 * kSqrtTwoOverPi), hn::MulAdd(set_f32(0.044715), cube, x));
  return hn::Mul(x, sigmoid_f32(y));
}

VecF32 mish_f32(VecF32 x) {  // tanh(ln(1 + e)) = n / (n + 2) with n = e·(e + 2)
  const VecF32 e = exp_f32(hn::Min(x, set_f32(20)));
  const VecF32 n = hn::Mul(e, hn::Add(e, set_f32(2)));
  const VecF32 y = hn::Mul(x, hn::Div(n, hn::Add(n, set_f32(2))));
  return keep_nan(x, hn::IfThenElse(hn::Gt(x, set_f32(20)), x, y));
}

VecF32 sign_f32(VecF32 x) {
  const VecF32 zero = hn::Zero(F32());
  const VecF32 one = hn::CopySign(set_f32(1), x);
  return keep_nan(x, hn::IfThenElse(hn::Eq(x, zero), zero, one));
}

VecF32 shrink_f32(VecF32 x, const Params& p) {
  const VecF32 above = hn::IfThenElseZero(hn::Gt(x, set_f32(p[0])), hn::Sub(x, set_f32(p[1])));
  return hn::IfThenElse(hn::Lt(x, set_f32(-p[0])), hn::Add(x, set_f32(p[1])), above);
}

ChunkFn activation_f32(uint32_t op, bool tanh_gelu) {
  switch (op) {
    case BP_OP_SIGMOID:
      return map_f32([](VecF32 x, const Params&) { return sigmoid_f32(x); });
    case BP_OP_HARD_SIGMOID:
      return map_f32([](VecF32 x, const Params& p) { return clamp_unit(hn::MulAdd(set_f32(p[0]), x, set_f32(p[1]))); });
    case BP_OP_RELU:
      return map_f32([](VecF32 x, const Params&) { return keep_nan(x, hn::Max(x, hn::Zero(F32()))); });
    case BP_OP_LEAKY_RELU:
      return map_f32([](VecF32 x, const Params& p) {
        return hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), hn::Mul(set_f32(p[0]), x), x);
      });
    case BP_OP_ELU:
      return map_f32([](VecF32 x, const Params& p) { return elu_f32(x, p[0]); });
    case BP_OP_SELU:
      return map_f32([](VecF32 x, const Params& p) { return hn::Mul(set_f32(p[1]), elu_f32(x, p[0])); });
    case BP_OP_CELU:
      return map_f32([](VecF32 x, const Params& p) { return celu_f32(x, p[0]); });
    case BP_OP_GELU:
      if (tanh_gelu) return map_f32([](VecF32 x, const Params&) { return gelu_tanh_f32(x); });
      return map_f32([](VecF32 x, const Params&) { return hn::Mul(hn::Mul(set_f32(0.5), x), twice_normal_f32(x)); });
    case BP_OP_SILU:
      return map_f32([](VecF32 x, const Params&) { return hn::Mul(x, sigmoid_f32(x)); });
    case BP_OP_HARD_SWISH:
      return map_f32([](VecF32 x, const Params&) {
        return hn::Mul(x, clamp_unit(hn::MulAdd(x, set_f32(1.0 / 6), set_f32(0.5))));
      });
    case BP_OP_SOFTPLUS:
      return map_f32([](VecF32 x, const Params&) { return softplus_f32(x); });
    case BP_OP_SOFTSIGN:
      return map_f32([](VecF32 x, const Params&) { return hn::Div(x, hn::Add(set_f32(1), hn::Abs(x))); });
    case BP_OP_MISH:
      return map_f32([](VecF32 x, const Params&) { return mish_f32(x); });
    case BP_OP_THRESHOLDED_RELU:
      return map_f32([](VecF32 x, const Params& p) { return hn::IfThenElseZero(hn::Gt(x, set_f32(p[0])), x); });
    case BP_OP_SHRINK:
      return map_f32([](VecF32 x, const Params& p) { return shrink_f32(x, p); });
    default:
      return nullptr;
  }
}

ChunkFn math_f32(uint32_t op) {
  switch (op) {
    case BP_OP_ABS:
      return map_f32([](VecF32 x, const Params&) { return hn::Abs(x); });
    case BP_OP_NEG:
      return map_f32([](VecF32 x, const Params&) { return hn::Neg(x); });
    case BP_OP_SIGN:
      return map_f32([](VecF32 x, const Params&) { return sign_f32(x); });
    case BP_OP_FLOOR:
      return map_f32([](VecF32 x, const Params&) { return hn::Floor(x); });
    case BP_OP_CEIL:
      return map_f32([](VecF32 x, const Params&) { return hn::Ceil(x); });
    case BP_OP_ROUND:
      return map_f32([](VecF32 x, const Params&) { return hn::Round(x); });
    case BP_OP_EXP:
      return map_f32([](VecF32 x, const Params&) { return exp_f32(x); });
    case BP_OP_LOG:
      return map_f32([](VecF32 x, const Params&) { return log_f32(x); });
    case BP_OP_SQRT:
      return map_f32([](VecF32 x, const Params&) { return hn::Sqrt(x); });
    case BP_OP_RECIPROCAL:
      return map_f32([](VecF32 x, const Params&) { return hn::Div(set_f32(1), x); });
    case BP_OP_ERF:
      return map_f32([](VecF32 x, const Params&) { return erf_f32(x); });
    case BP_OP_TANH:
      return map_f32([](VecF32 x, const Params&) { return tanh_f32(x); });
    default:
      return nullptr;
  }
}

// ---- scalar functions: f64, and f32 where the C library is good enough

template <class T>
ChunkFn trigonometry(uint32_t op) {
  switch (op) {
    case BP_OP_SIN:
      return map<T>([](T x, const Params&) { return std::sin(x); });
    case BP_OP_COS:
      return map<T>([](T x, const Params&) { return std::cos(x); });
    case BP_OP_TAN:
      return map<T>([](T x, const Params&) { return std::tan(x); });
    case BP_OP_ASIN:
      return map<T>([](T x, const Params&) { return std::asin(x); });
    case BP_OP_ACOS:
      return map<T>([](T x, const Params&) { return std::acos(x); });
    case BP_OP_ATAN:
      return map<T>([](T x, const Params&) { return std::atan(x); });
    case BP_OP_SINH:
      return map<T>([](T x, const Params&) { return std::sinh(x); });
    case BP_OP_COSH:
      return map<T>([](T x, const Params&) { return std::cosh(x); });
    case BP_OP_ASINH:
      return map<T>([](T x, const Params&) { return std::asinh(x); });
    case BP_OP_ACOSH:
      return map<T>([](T x, const Params&) { return std::acosh(x); });
    case BP_OP_ATANH:
      return map<T>([](T x, const Params&) { return std::atanh(x); });
    default:
      return nullptr;
  }
}

double sigmoid_f64(double x) {
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
double softplus_f64(double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
double clamp_unit_f64(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
double elu_f64(double x, double alpha) { return x < 0 ? alpha * std::expm1(x) : x; }

ChunkFn activation_f64(uint32_t op, bool tanh_gelu) {
  switch (op) {
    case BP_OP_SIGMOID:
      return map<double>([](double x, const Params&) { return sigmoid_f64(x); });
    case BP_OP_HARD_SIGMOID:
      return map<double>([](double x, const Params& p) { return clamp_unit_f64(p[0] * x + p[1]); });
    case BP_OP_RELU:
      return map<double>([](double x, const Params&) { return x < 0 ? 0 : x; });
    case BP_OP_LEAKY_RELU:
      return map<double>([](double x, const Params& p) { return x < 0 ? p[0] * x : x; });
    case BP_OP_ELU:
      return map<double>([](double x, const Params& p) { return elu_f64(x, p[0]); });
    case BP_OP_SELU:
      return map<double>([](double x, const Params& p) { return p[1] * elu_f64(x, p[0]); });
    case BP_OP_CELU:
      return map<double>([](double x, const Params& p) { return x < 0 ? p[0] * std::expm1(x / p[0]) : x; });
    case BP_OP_GELU:
      if (tanh_gelu)
        return map<double>(
            [](double x, const Params&) { return x * sigmoid_f64(2 * kSqrtTwoOverPi * (x + 0.044715 * x * x * x)); });
      return map<double>([](double x, const Params&) { return 0.5 * x * std::erfc(-x * kSqrtHalf); });
    case BP_OP_SILU:
      return map<double>([](double x, const Params&) { return x * sigmoid_f64(x); });
    case BP_OP_HARD_SWISH:
      return map<double>([](double x, const Params&) { return x * clamp_unit_f64(x / 6 + 0.5); });
    case BP_OP_SOFTPLUS:
      return map<double>([](double x, const Params&) { return softplus_f64(x); });
    case BP_OP_SOFTSIGN:
      return map<double>([](double x, const Params&) { return x / (1 + std::fabs(x)); });
    case BP_OP_MISH:
      return map<double>([](double x, const Params&) { return x * std::tanh(softplus_f64(x)); });
    case BP_OP_THRESHOLDED_RELU:
      return map<double>([](double x, const Params& p) { return x > p[0] ? x : 0; });
    case BP_OP_SHRINK:
      return map<double>([](double x, const Params& p) { return x < -p[0] ? x + p[1] : x > p[0] ? x - p[1] : 0; });
    default:
      return nullptr;
  }
}

ChunkFn math_f64(uint32_t op) {
  switch (op) {
    case BP_OP_ABS:
      return map<double>([](double x, const Params&) { return std::fabs(x); });
    case BP_OP_NEG:
      return map<double>([](double x, const Params&) { return -x; });
    case BP_OP_SIGN:
      return map<double>([](double x, const Params&) { return x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x; });
    case BP_OP_FLOOR:
      return map<double>([](double x, const Params&) { return std::floor(x); });
    case BP_OP_CEIL:
      return map<double>([](double x, const Params&) { return std::ceil(x); });
    case BP_OP_ROUND:
      return map<double>([](double x, const Params&) { return std::nearbyint(x); });
    case BP_OP_EXP:
      return map<double>([](double x, const Params&) { return std::exp(x); });
    case BP_OP_LOG:
      return map<double>([](double x, const Params&) { return std::log(x); });
    case BP_OP_SQRT:
      return map<double>([](double x, const Params&) { return std::sqrt(x); });
    case BP_OP_RECIPROCAL:
      return map<double>([](double x, const Params&) { return 1 / x; });
    case BP_OP_ERF:
      return map<double>([](double x, const Params&) { return std::erf(x); });
    case BP_OP_TANH:
      return map<double>([](double x, const Params&) { return std::tanh(x); });
    default:
      return nullptr;
  }
}

// ---- integers; T is int64_t or uint64_t, arithmetic wraps

template <class T>
T shrink_integer(T x, const Params& p) {
  const double value = static_cast<double>(x);
  const double shift = value < -p[0] ? p[1] : -p[1];
  if (!(value < -p[0]) && !(value > p[0])) return T{0};
  int64_t whole_shift;
  const ConvertFn to_i64 = narrow_function(Compute::kF64, BP_TYPE_I64);
  to_i64(&shift, &whole_shift, 1);
  if (shift == std::trunc(shift)) return static_cast<T>(static_cast<uint64_t>(x) + static_cast<uint64_t>(whole_shift));
  const double sum = value + shift;
  T result;
  if (std::is_signed_v<T> || sum < 0) {
    to_i64(&sum, &whole_shift, 1);
    result = static_cast<T>(whole_shift);
  } else {
    narrow_function(Compute::kF64, BP_TYPE_U64)(&sum, &result, 1);
  }
  return result;
}

template <class T>
ChunkFn integer_function(uint32_t op) {
  switch (op) {
    case BP_OP_ABS:
      return map<T>([](T x, const Params&) { return x < T{0} ? T{0} - static_cast<uint64_t>(x) : x; });
    case BP_OP_NEG:
      return map<T>([](T x, const Params&) { return uint64_t{0} - static_cast<uint64_t>(x); });
    case BP_OP_SIGN:
      return map<T>([](T x, const Params&) { return (x > T{0}) - (x < T{0}); });
    case BP_OP_RELU:
      return map<T>([](T x, const Params&) { return x < T{0} ? T{0} : x; });
    case BP_OP_SHRINK:
      return map<T>([](T x, const Params& p) { return shrink_integer(x, p); });
    case BP_OP_BITWISE_NOT:
      return map<T>([](T x, const Params&) { return ~x; });
    default:
      return nullptr;
  }
}

// ---- tests of floats

template <class T>
ChunkFn float_test(uint32_t op) {
  if (op == BP_OP_IS_NAN) return map<T, uint8_t>([](T x, const Params&) { return x != x; });
  return map<T, uint8_t>([](T x, const Params& p) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    return (x == kInfinity && p[0] != 0) || (x == -kInfinity && p[1] != 0);
  });
}

ChunkFn first_of(ChunkFn a, ChunkFn b, ChunkFn c = nullptr) { return a != nullptr ? a : b != nullptr ? b : c; }

ChunkFn select(uint32_t op, Compute compute, bool tanh_gelu) {
  const bool test = op == BP_OP_IS_NAN || op == BP_OP_IS_INF;
  switch (compute) {
    case Compute::kF32:
      return test ? float_test<float>(op)
                  : first_of(math_f32(op), activation_f32(op, tanh_gelu), trigonometry<float>(op));
    case Compute::kF64:
      return test ? float_test<double>(op)
                  : first_of(math_f64(op), activation_f64(op, tanh_gelu), trigonometry<double>(op));
    case Compute::kI64:
      return integer_function<int64_t>(op);
    case Compute::kU64:
      return integer_function<uint64_t>(op);
    case Compute::kBool:
      return op == BP_OP_NOT ? map<uint8_t>([](uint8_t x, const Params&) { return x == 0; }) : nullptr;
    default:
      return nullptr;
  }
}

// The attributes of an op, as keys with defaults, in the order of Chunk::params.
struct Attribute {
  uint32_t key = 0;
  double fallback = 0;
};
std::array<Attribute, 2> attributes_of(uint32_t op) {
  switch (op) {
    case BP_OP_HARD_SIGMOID:
      return {{{BP_ATTR_ALPHA, 0.2}, {BP_ATTR_BETA, 0.5}}};
    case BP_OP_LEAKY_RELU:
      return {{{BP_ATTR_ALPHA, 0.01}, {}}};
    case BP_OP_ELU:
    case BP_OP_CELU:
    case BP_OP_THRESHOLDED_RELU:
      return {{{BP_ATTR_ALPHA, 1}, {}}};
    case BP_OP_SELU:
      return {{{BP_ATTR_ALPHA, 1.67326319217681884765625}, {BP_ATTR_GAMMA, 1.05070102214813232421875}}};
    case BP_OP_SHRINK:
      return {{{BP_ATTR_LAMBD, 0.5}, {BP_ATTR_BIAS, 0}}};
    case BP_OP_IS_INF:
      return {{{BP_ATTR_DETECT_POSITIVE, 1}, {BP_ATTR_DETECT_NEGATIVE, 1}}};
    default:
      return {};
  }
}

Params read_params(const NodeView& node) {
  const std::array<Attribute, 2> attributes = attributes_of(node.op());
  const uint32_t text = node.op() == BP_OP_GELU ? uint32_t{BP_ATTR_APPROXIMATE} : attributes[0].key;
  check_signature(node, 1, 1, 1, {text, attributes[1].key});
  Params params{};
  for (size_t i = 0; i < params.size(); ++i) {
    const auto [key, fallback] = attributes[i];
    if (key == 0) continue;
    params[i] = node.op() == BP_OP_IS_INF ? static_cast<double>(node.i64(key, 1)) : node.f64(key, fallback);
  }
  return params;
}

}  // namespace

Prepared prepare_unary(const NodeView& node) {
  const Params params = read_params(node);
  const std::string_view approximate = node.op() == BP_OP_GELU ? node.text(BP_ATTR_APPROXIMATE, "none") : "none";
  require(approximate == "none" || approximate == "tanh", "approximate must be none or tanh");
  const TensorView x = node.input(0), y = node.output(0);
  check_shape(y, x.shape());
  const Compute compute = compute_of(x.dtype());
  const ChunkFn function = select(node.op(), compute, approximate == "tanh");
  check_type(x, function != nullptr, "another for this op");
  const bool test = node.op() == BP_OP_IS_NAN || node.op() == BP_OP_IS_INF;
  check_type(y, y.dtype() == (test ? uint32_t{BP_TYPE_BOOL} : x.dtype()), test ? "bool" : "the input's type");
  return {
      std::make_unique<ElementwiseKernel>(node, test ? Compute::kBool : compute, function, params), {}, test ? 0u : 1u};
}

}  // namespace backplane_cpu
