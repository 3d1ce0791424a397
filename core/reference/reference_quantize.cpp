// quantize_linear, dequantize_linear and dynamic_quantize_linear.
#include <algorithm>

#include "call.hpp"
#include "iteration.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

// The elements of an input as if broadcast to `shape`; zeros if it is absent.
template <class V>
std::vector<V> spread(const Call& call, size_t at, const Shape& shape) {
  std::vector<V> values;
  if (!call.has(at)) return std::vector<V>(static_cast<size_t>(product(shape)));
  const std::vector<V> given = load<V>(call.input(at));
  walk(shape, std::array{broadcast_strides(call.input(at).shape(), shape)},
       [&](const std::array<int64_t, 1>& from) { values.push_back(given[static_cast<size_t>(from[0])]); });
  return values;
}

// round(x / scale) + zero point within the type; NaN gives the zero point. Below f64 the quotient is an f32.
int64_t quantized(double x, double scale, int64_t zero_point, DType from, DType to) {
  const double quotient = from == DType::kF64 ? x / scale : static_cast<double>(static_cast<float>(x / scale));
  const auto low = lowest<int64_t>(to), high = highest<int64_t>(to);
  if (std::isnan(quotient)) return zero_point;
  const double value = std::nearbyint(quotient) + static_cast<double>(zero_point);
  return static_cast<int64_t>(std::clamp(value, static_cast<double>(low), static_cast<double>(high)));
}

Outputs quantize(const Call& call) {
  const HostTensor& x = call.input(0);
  const std::vector<double> values = load<double>(x);
  const std::vector<double> scales = spread<double>(call, 1, x.shape());
  const std::vector<int64_t> zeros = spread<int64_t>(call, 2, x.shape());
  std::vector<int64_t> y(values.size());
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = quantized(values[i], scales[i], zeros[i], x.dtype(), call.output().dtype);
  return single(store(call.output(), y));
}

Outputs dequantize(const Call& call) {
  const HostTensor& x = call.input(0);
  const std::vector<int64_t> values = load<int64_t>(x);
  const std::vector<double> scales = spread<double>(call, 1, x.shape());
  const std::vector<int64_t> zeros = spread<int64_t>(call, 2, x.shape());
  std::vector<double> y(values.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(values[i] - zeros[i]) * scales[i];
  return single(store(call.output(), y));
}

// The range of x, widened to 0, over the integers 0 to 255.
Outputs dynamic_quantize(const Call& call) {
  const std::vector<double> x = load<double>(call.input(0));
  double low = 0, high = 0;
  for (const double value : x) {
    low = minimum(low, value);
    high = maximum(high, value);
  }
  float scale = (static_cast<float>(high) - static_cast<float>(low)) / 255;
  if (scale == 0) scale = 1;
  const int64_t zero = quantized(-low, scale, 0, DType::kF32, DType::kU8);
  std::vector<int64_t> y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = quantized(x[i], scale, zero, DType::kF32, DType::kU8);
  BP_TRY_ASSIGN(HostTensor first, store(call.outputs[0], y));
  BP_TRY_ASSIGN(HostTensor second, store(call.outputs[1], std::vector<double>{scale}));
  BP_TRY_ASSIGN(HostTensor third, store(call.outputs[2], std::vector<int64_t>{zero}));
  return std::vector<HostTensor>{std::move(first), std::move(second), std::move(third)};
}

}  // namespace

std::vector<int64_t> without_zero_point(const Call& call, size_t operand) {
  std::vector<int64_t> values = load<int64_t>(call.input(operand));
  const std::vector<int64_t> zeros = spread<int64_t>(call, operand + 2, call.input(operand).shape());
  for (size_t i = 0; i < values.size(); ++i) values[i] -= zeros[i];
  return values;
}

Outputs quantization(const Call& call) {
  if (call.op == Op::kQUANTIZE_LINEAR) return quantize(call);
  if (call.op == Op::kDEQUANTIZE_LINEAR) return dequantize(call);
  return dynamic_quantize(call);
}

}  // namespace backplane::reference
