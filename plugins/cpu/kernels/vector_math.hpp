// Elementary functions on vectors of f32, right for every input, infinities and NaN included; within a few ulp.
// Highway's own functions are exact enough but promise nothing outside a range: these close the gaps.
#pragma once

#include <hwy/highway.h>

#include "hwy/contrib/math/math-inl.h"

namespace backplane_cpu {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using VecF32 = hn::Vec<F32>;

inline VecF32 set_f32(double value) { return hn::Set(F32(), static_cast<float>(value)); }

// `result` where x is a number, x where it is NaN.
inline VecF32 keep_nan(VecF32 x, VecF32 result) { return hn::IfThenElse(hn::IsNaN(x), x, result); }

inline VecF32 exp_f32(VecF32 x) {
  return keep_nan(x, hn::Exp(F32(), hn::Min(hn::Max(x, set_f32(-200)), set_f32(104))));
}

inline VecF32 expm1_f32(VecF32 x) {
  return keep_nan(x, hn::Expm1(F32(), hn::Min(hn::Max(x, set_f32(-200)), set_f32(104))));
}

inline VecF32 log_f32(VecF32 x) {
  const F32 d;
  const VecF32 zero = hn::Zero(d), infinity = hn::Inf(d);
  VecF32 y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  return keep_nan(x, hn::IfThenElse(hn::Lt(x, zero), hn::NaN(d), y));
}

inline VecF32 tanh_f32(VecF32 x) {
  return keep_nan(x, hn::Tanh(F32(), hn::Min(hn::Max(x, set_f32(-20)), set_f32(20))));
}

// Written so that neither side overflows and small results keep their digits.
inline VecF32 sigmoid_f32(VecF32 x) {
  const F32 d;
  const VecF32 e = exp_f32(hn::Neg(hn::Abs(x)));
  const VecF32 numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, set_f32(1));
  return keep_nan(x, hn::Div(numerator, hn::Add(set_f32(1), e)));
}

// e^(t^2)·erfc(t) for t = x / unit >= 0. With u = (t - 2)/(t + 2), this times (t + 2) is nearly a polynomial (Chebyshev
// interpolation, error 5e-9 for t up to 10; beyond, erfc is too small for f32). x is not divided first: that would
// round.
inline VecF32 scaled_erfc_f32(VecF32 x, double unit) {
  x = hn::Min(x, set_f32(12 * unit));
  const VecF32 divisor = hn::Add(x, set_f32(2 * unit));
  const VecF32 u = hn::Div(hn::Sub(x, set_f32(2 * unit)), divisor);
  VecF32 p = set_f32(6.3721789198248315e-5 * unit);
  for (const double c : {3.8545202302798873e-5, -0.00058799738051797221, -0.00082265139087947068, 0.0030616885697458159,
                         0.0064722518618885665, -0.021505714743468623, -0.036441249947719157, 0.27947177407192207,
                         -0.68716071871987181, 1.0215827087561624})
    p = hn::MulAdd(p, u, set_f32(c * unit));
  return hn::Div(p, divisor);
}

// e^(-factor·x^2) for x >= 0 and a factor that is a power of two, 1 at most. The square is formed in two parts, so that
// its rounding does not reach the exponential; of the small part (below 1/8 where the result is not 0) the series is
// enough.
inline VecF32 exp_minus_square_f32(VecF32 x, double factor) {
  const F32 d;
  const hn::RebindToUnsigned<F32> du;
  x = hn::Min(x, set_f32(1e4));
  const VecF32 minus = set_f32(-factor);
  const VecF32 high = hn::BitCast(d, hn::And(hn::BitCast(du, x), hn::Set(du, 0xFFFFF000u)));
  const VecF32 low = hn::Mul(minus, hn::Mul(hn::Sub(x, high), hn::Add(x, high)));
  const VecF32 e = exp_f32(hn::Mul(minus, hn::Mul(high, high)));
  VecF32 series = set_f32(1.0 / 120);
  for (const double c : {1.0 / 24, 1.0 / 6, 0.5, 1.0}) series = hn::MulAdd(series, low, set_f32(c));
  return hn::MulAdd(e, hn::Mul(series, low), e);
}

// 2·Φ(x) = erfc(-x/√2)
inline VecF32 twice_normal_f32(VecF32 x) {
  const VecF32 magnitude = hn::Abs(x);
  const VecF32 tail = hn::Mul(scaled_erfc_f32(magnitude, 1.41421356237309504880), exp_minus_square_f32(magnitude, 0.5));
  return keep_nan(x, hn::IfThenElse(hn::Lt(x, hn::Zero(F32())), tail, hn::Sub(set_f32(2), tail)));
}

// x·P(x^2) below 1 (Chebyshev interpolation of erf(x)/x, error 1.4e-9), 1 - erfc above.
inline VecF32 erf_f32(VecF32 x) {
  const VecF32 magnitude = hn::Abs(x);
  const VecF32 square = hn::Mul(x, x);
  VecF32 p = set_f32(7.8758750626854883e-5);
  for (const double c : {-0.00080168642871658695, 0.005189087423433974, -0.026854212010626412, 0.11283594715160218,
                         -0.37612626666720331, 1.1283791658483509})
    p = hn::MulAdd(p, square, set_f32(c));
  const VecF32 tail = hn::Mul(scaled_erfc_f32(magnitude, 1), exp_minus_square_f32(magnitude, 1));
  const VecF32 large = hn::CopySign(hn::Sub(set_f32(1), tail), x);
  return keep_nan(x, hn::IfThenElse(hn::Lt(magnitude, set_f32(1)), hn::Mul(x, p), large));
}

// ln(1 + e^x)
inline VecF32 softplus_f32(VecF32 x) {
  const F32 d;
  const VecF32 tail = hn::Log1p(d, exp_f32(hn::Neg(hn::Abs(x))));
  return keep_nan(x, hn::Add(hn::Max(x, hn::Zero(d)), tail));
}

}  // namespace backplane_cpu
