// Signal processing: windows and mel weights, which are constants, and Fourier transforms, which are matrix products.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"
#include "lowering/lowering_table.hpp"
#include "model_types.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

constexpr double kTurn = 2 * std::numbers::pi;
constexpr int64_t kMaxMatrix = int64_t{1} << 26;  // elements of a transform's matrix

Result<DType> output_type(NodeContext& c) {
  const int64_t type = c.i64("output_datatype", 1);
  if (const std::optional<DType> dtype = dtype_of_onnx(type)) return *dtype;
  return unimplemented(cat("it makes ONNX element type ", type, ", which is not supported"));
}

// Hann, Hamming and Blackman are sums of cosines: a - b cos(t) + c cos(2t).
Status window(NodeContext& c, double a, double b, double second) {
  BP_TRY_ASSIGN(const int64_t size, c.in_i64(0));
  BP_TRY_ASSIGN(const DType dtype, output_type(c));
  if (size < 0 || size > kMaxMatrix) return invalid_argument(cat("a window of ", size, " elements is not usable"));
  const bool periodic = c.i64("periodic", 1) != 0;
  const auto period = static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  std::vector<double> values(static_cast<size_t>(size));
  for (size_t at = 0; at < values.size(); ++at) {
    const double angle = kTurn * static_cast<double>(at) / period;
    values[at] = a - b * std::cos(angle) + second * std::cos(2 * angle);
  }
  Formula f(c.emit);
  const TensorId made = f.list(dtype, values);
  return c.set(0, f.result(made));
}

Status hann_window(NodeContext& c) { return window(c, 0.5, 0.5, 0); }
Status hamming_window(NodeContext& c) { return window(c, 25.0 / 46, 21.0 / 46, 0); }
Status blackman_window(NodeContext& c) { return window(c, 0.42, 0.5, 0.08); }

// cos and sin of 2 pi * part / whole, exact at the quarters.
std::pair<double, double> on_circle(int64_t part, int64_t whole) {
  part %= whole;
  if (4 * part % whole == 0) {
    static constexpr double kCos[] = {1, 0, -1, 0}, kSin[] = {0, 1, 0, -1};
    const auto quarter = static_cast<size_t>(4 * part / whole);
    return {kCos[quarter], kSin[quarter]};
  }
  const double angle = kTurn * static_cast<double>(part) / static_cast<double>(whole);
  return {std::cos(angle), std::sin(angle)};
}

struct Transform {
  int64_t length;  // of the signal
  int64_t bins;    // of the spectrum that are wanted
  int64_t parts;   // 1: the signal is real; 2: real and imaginary parts alternate
  bool inverse;
};

// [length * parts, bins * 2]: what each part of the signal adds to each part of the spectrum.
Result<HostTensor> matrix_of(const Transform& t) {
  if (t.length > kMaxMatrix / std::max<int64_t>(4 * t.bins, 1)) {
    return unimplemented(cat("a transform of length ", t.length, " is too long to be a matrix product"));
  }
  BP_TRY_ASSIGN(HostTensor matrix, HostTensor::zeros(DType::kF64, {t.length * t.parts, t.bins * 2}));
  double* to = matrix.mutable_data<double>();
  const double sign = t.inverse ? 1 : -1, scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
  for (int64_t n = 0; n < t.length; ++n)
    for (int64_t part = 0; part < t.parts; ++part)
      for (int64_t k = 0; k < t.bins; ++k) {
        const auto [cosine, sine] = on_circle(n * k, t.length);
        *to++ = scale * (part == 0 ? cosine : -sign * sine);
        *to++ = scale * (part == 0 ? sign * sine : cosine);
      }
  return matrix;
}

// The transform of [..., axis, ..., parts] along an axis, of which `length` elements count (zeros where there are
// fewer).
Result<TensorId> transform(NodeContext& c, TensorId x, int64_t axis, int64_t length, bool inverse, bool onesided) {
  const Shape from = c.emit.shape(x);
  const auto rank = static_cast<int64_t>(from.size());
  if (rank < 2 || axis < 0 || axis >= rank - 1 || from.back() < 1 || from.back() > 2 || length < 1 ||
      length > kMaxMatrix) {
    return invalid_argument(cat("the signal must be [..., 1 or 2] with the transform's axis before the last and a ",
                                "usable length, found ", shape_text(from), ", axis ", axis, ", length ", length));
  }
  Formula f(c.emit);
  const int64_t extent = from[static_cast<size_t>(axis)];
  TensorId signal = f.slice(x, axis, 0, std::min(extent, length));
  if (extent < length) {
    Shape pads(2 * from.size(), 0);
    pads[from.size() + static_cast<size_t>(axis)] = length - extent;
    signal = f.op(Op::kPAD, {signal}, {{BP_ATTR_PADS, pads}});
  }
  Shape order;  // the axis just before the parts
  for (int64_t at = 0; at < rank - 1; ++at)
    if (at != axis) order.push_back(at);
  order.insert(order.end(), {axis, rank - 1});
  const Transform kind{length, onesided ? length / 2 + 1 : length, from.back(), inverse};
  BP_TRY_ASSIGN(HostTensor matrix, matrix_of(kind));
  BP_TRY_ASSIGN(const TensorId wide, c.emit.constant(std::move(matrix)));
  Shape rows;
  for (int64_t at = 0; at < rank - 2; ++at) rows.push_back(from[static_cast<size_t>(order[static_cast<size_t>(at)])]);
  Shape flat = rows, spectrum = rows, back(from.size());
  flat.push_back(length * kind.parts);
  spectrum.insert(spectrum.end(), {kind.bins, 2});
  for (size_t at = 0; at < order.size(); ++at) back[static_cast<size_t>(order[at])] = static_cast<int64_t>(at);
  const TensorId lines = f.reshape(f.permute(signal, order), flat);
  const TensorId made = f.op(Op::kMATMUL, {lines, f.cast(wide, c.emit.dtype(x))});
  const TensorId result = f.permute(f.reshape(made, spectrum), back);
  return f.result(result);
}

Status dft(NodeContext& c) {
  const int64_t rank = c.emit.rank(c.in(0));
  int64_t axis = c.i64("axis", 1);
  if (c.opset() >= 20) {
    axis = -2;
    if (c.has(2)) {
      BP_TRY_ASSIGN(axis, c.in_i64(2));
    }
  }
  BP_TRY_ASSIGN(axis, NodeContext::axis_of(axis, rank));
  int64_t length = c.emit.shape(c.in(0))[static_cast<size_t>(axis)];
  if (c.has(1)) {
    BP_TRY_ASSIGN(length, c.in_i64(1));
  }
  return c.set(0, transform(c, c.in(0), axis, length, c.i64("inverse", 0) != 0, c.i64("onesided", 0) != 0));
}

// Overlapping frames of the signal, each times the window, transformed.
Status stft(NodeContext& c) {
  const Shape signal = c.emit.shape(c.in(0));
  BP_TRY_ASSIGN(const int64_t step, c.in_i64(1));
  int64_t length = c.has(2) && c.emit.rank(c.in(2)) == 1 ? c.emit.shape(c.in(2))[0] : 0;
  if (c.has(3)) {
    BP_TRY_ASSIGN(length, c.in_i64(3));
  }
  if (signal.size() != 3 || step < 1 || length < 1 || length > signal[1]) {
    return invalid_argument(cat("the signal must be [batch, length, parts] and hold a frame, found ",
                                shape_text(signal), ", step ", step, ", frame length ", length));
  }
  const int64_t frames = (signal[1] - length) / step + 1;
  if (frames > kMaxMatrix / length) return unimplemented("it has too many frames to index");
  std::vector<double> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t at = 0; at < length; ++at) places.push_back(static_cast<double>(frame * step + at));
  Formula f(c.emit);
  const TensorId indices = f.reshape(f.list(DType::kI64, places), {frames, length});
  TensorId framed = f.op(Op::kGATHER, {c.in(0), indices}, {{BP_ATTR_AXIS, int64_t{1}}});
  if (c.has(2)) framed = f.mul(framed, f.reshape(c.in(2), {length, 1}));
  BP_TRY(f.status());
  return c.set(0, transform(c, framed, 2, length, false, c.i64("onesided", 1) != 0));
}

// Triangles over the bins of a spectrum, evenly spaced on the mel scale, as ONNX defines them.
std::vector<double> mel_weights(const std::vector<int64_t>& bins, int64_t rows, int64_t columns) {
  std::vector<double> weights(static_cast<size_t>(rows * columns), 0);
  const auto weight = [&](int64_t row, int64_t column) -> double& {
    return weights[static_cast<size_t>(row * columns + column)];
  };
  for (int64_t i = 0; i < columns; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t low = bins[at], centre = bins[at + 1], high = bins[at + 2];
    for (int64_t j = std::max<int64_t>(low, 0); j <= std::min(centre, rows - 1); ++j)
      weight(j, i) = low == centre ? 1 : static_cast<double>(j - low) / static_cast<double>(centre - low);
    for (int64_t j = std::max<int64_t>(centre, 0); j < std::min(high, rows); ++j)
      weight(j, i) = static_cast<double>(high - j) / static_cast<double>(high - centre);
  }
  return weights;
}

Status mel_weight_matrix(NodeContext& c) {
  BP_TRY_ASSIGN(const int64_t count, c.in_i64(0));
  BP_TRY_ASSIGN(const int64_t length, c.in_i64(1));
  BP_TRY_ASSIGN(const int64_t rate, c.in_i64(2));
  BP_TRY_ASSIGN(const std::vector<double> low, c.in_f64s(3));
  BP_TRY_ASSIGN(const std::vector<double> high, c.in_f64s(4));
  BP_TRY_ASSIGN(const DType dtype, output_type(c));
  if (count < 1 || length < 1 || rate < 1 || low.size() != 1 || high.size() != 1 || count > kMaxMatrix / length) {
    return invalid_argument("its inputs must be positive scalars of a usable size");
  }
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double first = mel(low[0]), step = (mel(high[0]) - first) / static_cast<double>(count + 2);
  std::vector<int64_t> bins;
  for (int64_t i = 0; i < count + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (first + static_cast<double>(i) * step) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(std::fabs(bin) < 0x1p40)) return invalid_argument("its edges are no usable frequencies");
    bins.push_back(static_cast<int64_t>(bin));
  }
  Formula f(c.emit);
  const TensorId flat = f.list(dtype, mel_weights(bins, length / 2 + 1, count));
  const TensorId made = f.reshape(flat, {length / 2 + 1, count});
  return c.set(0, f.result(made));
}

}  // namespace

std::span<const Lowering> signal_lowerings() {
  static constexpr Lowering kRows[] = {
      {"HannWindow", 17, 1, hann_window},
      {"HammingWindow", 17, 1, hamming_window},
      {"BlackmanWindow", 17, 1, blackman_window},
      {"DFT", 17, 1, dft},
      {"STFT", 17, 2, stft},
      {"MelWeightMatrix", 17, 5, mel_weight_matrix},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
