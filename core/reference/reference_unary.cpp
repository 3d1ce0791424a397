// Unary ops, each as the formula of docs/spec/ops.md, arranged so that double neither overflows nor cancels.
#include <functional>
#include <numbers>

#include "call.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

using RealFunction = std::function<double(double)>;

double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double gelu_tanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

RealFunction plain_function(Op op) {
  switch (op) {
    case Op::kABS:
      return [](double x) { return std::fabs(x); };
    case Op::kNEG:
      return [](double x) { return -x; };
    case Op::kSIGN:
      return [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : std::isnan(x) ? x : 0.0; };
    case Op::kFLOOR:
      return [](double x) { return std::floor(x); };
    case Op::kCEIL:
      return [](double x) { return std::ceil(x); };
    case Op::kROUND:
      return [](double x) { return std::nearbyint(x); };
    case Op::kEXP:
      return [](double x) { return std::exp(x); };
    case Op::kLOG:
      return [](double x) { return std::log(x); };
    case Op::kSQRT:
      return [](double x) { return std::sqrt(x); };
    case Op::kRECIPROCAL:
      return [](double x) { return 1 / x; };
    case Op::kERF:
      return [](double x) { return std::erf(x); };
    case Op::kSIN:
      return [](double x) { return std::sin(x); };
    case Op::kCOS:
      return [](double x) { return std::cos(x); };
    case Op::kTAN:
      return [](double x) { return std::tan(x); };
    case Op::kASIN:
      return [](double x) { return std::asin(x); };
    case Op::kACOS:
      return [](double x) { return std::acos(x); };
    case Op::kATAN:
      return [](double x) { return std::atan(x); };
    case Op::kSINH:
      return [](double x) { return std::sinh(x); };
    case Op::kCOSH:
      return [](double x) { return std::cosh(x); };
    case Op::kTANH:
      return [](double x) { return std::tanh(x); };
    case Op::kASINH:
      return [](double x) { return std::asinh(x); };
    case Op::kACOSH:
      return [](double x) { return std::acosh(x); };
    case Op::kATANH:
      return [](double x) { return std::atanh(x); };
    case Op::kRELU:
      return [](double x) { return maximum(0.0, x); };
    case Op::kSIGMOID:
      return sigmoid;
    case Op::kSOFTPLUS:
      return softplus;
    case Op::kSOFTSIGN:
      return [](double x) { return x / (1 + std::fabs(x)); };
    case Op::kSILU:
      return [](double x) { return x * sigmoid(x); };
    case Op::kMISH:
      return [](double x) { return x * std::tanh(softplus(x)); };
    case Op::kHARD_SWISH:
      return [](double x) { return x * maximum(0.0, minimum(1.0, x / 6 + 0.5)); };
    default:
      return nullptr;
  }
}

RealFunction function_with_attributes(Op op, const AttrList& attrs) {
  const double alpha = attrs.f64(BP_ATTR_ALPHA, op == Op::kHARD_SIGMOID ? 0.2
                                                : op == Op::kLEAKY_RELU ? 0.01
                                                : op == Op::kSELU       ? 1.67326319217681884765625
                                                                        : 1.0);
  const double beta = attrs.f64(BP_ATTR_BETA, 0.5);
  const double gamma = attrs.f64(BP_ATTR_GAMMA, 1.05070102214813232421875);
  switch (op) {
    case Op::kHARD_SIGMOID:
      return [=](double x) { return maximum(0.0, minimum(1.0, alpha * x + beta)); };
    case Op::kLEAKY_RELU:
      return [=](double x) { return x < 0 ? alpha * x : x; };
    case Op::kELU:
      return [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; };
    case Op::kSELU:
      return [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); };
    case Op::kCELU:
      return [=](double x) { return maximum(0.0, x) + minimum(0.0, alpha * std::expm1(x / alpha)); };
    case Op::kTHRESHOLDED_RELU:
      return [=](double x) { return x > alpha ? x : 0.0; };
    case Op::kGELU:
      if (attrs.text(BP_ATTR_APPROXIMATE, "none") == "tanh") return gelu_tanh;
      return [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); };
    default:
      return nullptr;
  }
}

Outputs real(const Call& call) {
  RealFunction function = plain_function(call.op);
  if (!function) function = function_with_attributes(call.op, call.attrs);
  if (!function) return no_definition(call.op);
  std::vector<double> values = load<double>(call.input(0));
  for (double& value : values) value = function(value);
  return single(store(call.output(), values));
}

template <class V>
Outputs integral(const Call& call) {
  std::vector<V> values = load<V>(call.input(0));
  for (V& value : values) {
    switch (call.op) {
      case Op::kABS:
        value = absolute(value);
        break;
      case Op::kNEG:
        value = subtract(V{0}, value);
        break;
      case Op::kSIGN:
        value = value > 0 ? 1 : value == 0 ? 0 : static_cast<V>(-1);
        break;
      case Op::kRELU:
        value = maximum(V{0}, value);
        break;
      case Op::kBITWISE_NOT:
        value = ~value;
        break;
      case Op::kNOT:
        value = value == 0 ? 1 : 0;
        break;
      default:
        return no_definition(call.op);
    }
  }
  return single(store(call.output(), values));
}

template <class V>
V shrink_element(V x, double lambd, double bias) {
  const auto real = static_cast<double>(x);
  const double shift = real < -lambd ? bias : real > lambd ? -bias : 0;
  if (!(real < -lambd) && !(real > lambd)) return 0;
  if constexpr (std::is_floating_point_v<V>) return x + shift;
  if (shift != std::trunc(shift)) {  // truncated, and then wrapped below 0
    const double sum = real + shift;
    return sum < 0 ? static_cast<V>(truncate<int64_t>(sum)) : truncate<V>(sum);
  }
  return add(x, static_cast<V>(truncate<int64_t>(shift)));
}

template <class V>
Outputs shrink(const Call& call) {
  std::vector<V> values = load<V>(call.input(0));
  for (V& value : values)
    value = shrink_element(value, call.attrs.f64(BP_ATTR_LAMBD, 0.5), call.attrs.f64(BP_ATTR_BIAS, 0));
  return single(store(call.output(), values));
}

template <class V>
Outputs clip(const Call& call) {
  std::vector<V> values = load<V>(call.input(0));
  if (call.has(1))
    for (const V lo = load<V>(call.input(1)).front(); V & value : values) value = maximum(lo, value);
  if (call.has(2))
    for (const V hi = load<V>(call.input(2)).front(); V & value : values) value = minimum(hi, value);
  return single(store(call.output(), values));
}

Outputs is_special(const Call& call) {
  const bool positive = call.attrs.i64(BP_ATTR_DETECT_POSITIVE, 1) != 0;
  const bool negative = call.attrs.i64(BP_ATTR_DETECT_NEGATIVE, 1) != 0;
  std::vector<double> values = load<double>(call.input(0));
  for (double& x : values) x = call.op == Op::kIS_NAN ? std::isnan(x) : std::isinf(x) && (x > 0 ? positive : negative);
  return single(store(call.output(), values));
}

}  // namespace

Outputs unary(const Call& call) {
  return with_domain(call.input(0).dtype(), [&](auto domain) -> Outputs {
    using V = decltype(domain);
    if (call.op == Op::kSHRINK) return shrink<V>(call);
    if (call.op == Op::kCLIP) return clip<V>(call);
    if (call.op == Op::kIS_NAN || call.op == Op::kIS_INF) return is_special(call);
    if constexpr (std::is_floating_point_v<V>)
      return real(call);
    else
      return integral<V>(call);
  });
}

}  // namespace backplane::reference
