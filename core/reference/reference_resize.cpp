// resize: one pass for each axis. Nearest moves bytes; linear and cubic compute in double.
#include <algorithm>
#include <string>

#include "call.hpp"
#include "iteration.hpp"
#include "take.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

struct Axis {
  int64_t in, out;
  double scale;        // as the model gives it, or 0: exactly out / in
  double start, stop;  // region of interest of tf_crop_and_resize, in fractions of the axis

  double length() const { return scale != 0 ? static_cast<double>(in) * scale : static_cast<double>(out); }
  // t / (out / in), with one rounding where the scale is that exact ratio.
  double unscale(double t) const {
    return scale != 0 ? t / scale : t * static_cast<double>(in) / static_cast<double>(out);
  }
};

// The coordinate in x of index `at` of y, not clamped.
double source_coordinate(const Axis& axis, int64_t at, const std::string& mode) {
  const auto position = static_cast<double>(at);
  const double length = axis.length();
  const auto last = static_cast<double>(axis.in - 1);
  if (mode == "align_corners") return length == 1 ? 0 : position * last / (length - 1);
  if (mode == "asymmetric") return axis.unscale(position);
  if (mode == "tf_half_pixel_for_nn") return axis.unscale(position + 0.5);
  if (mode == "pytorch_half_pixel") return axis.out > 1 ? axis.unscale(position + 0.5) - 0.5 : 0;
  if (mode == "tf_crop_and_resize") {
    if (length == 1) return 0.5 * (axis.start + axis.stop) * last;
    return axis.start * last + position * (axis.stop - axis.start) * last / (length - 1);
  }
  const double half_pixel = axis.unscale(position + 0.5) - 0.5;
  if (mode != "half_pixel_symmetric") return half_pixel;
  return half_pixel + static_cast<double>(axis.in) / 2 * (1 - static_cast<double>(axis.out) / length);
}

int64_t nearest(double coordinate, const std::string& mode) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(coordinate));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(coordinate));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(coordinate + 0.5));
  return static_cast<int64_t>(std::ceil(coordinate - 0.5));
}

// The elements of x that one index of y is a weighted sum of; none where it takes the extrapolation value.
using Taps = std::vector<std::pair<int64_t, double>>;

// Keys' cubic convolution kernel at distance t of the sample.
double cubic_weight(double t, double a) {
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

Taps interpolation_taps(const Call& call, const Axis& axis, double coordinate, bool cubic) {
  const double a = call.attrs.f64(BP_ATTR_CUBIC_COEFF_A, -0.75);
  const bool exclude_outside = call.attrs.i64(BP_ATTR_EXCLUDE_OUTSIDE, 0) != 0;
  const auto base = static_cast<int64_t>(std::floor(coordinate));
  const double fraction = coordinate - static_cast<double>(base);
  Taps taps;
  double total = 0;
  for (int64_t offset = cubic ? -1 : 0; offset <= (cubic ? 2 : 1); ++offset) {
    const double distance = fraction - static_cast<double>(offset);
    const double weight = cubic ? cubic_weight(distance, a) : 1 - std::fabs(distance);
    const int64_t clamped = std::clamp<int64_t>(base + offset, 0, axis.in - 1);
    if ((exclude_outside && clamped != base + offset) || weight == 0) continue;
    taps.emplace_back(clamped, weight);
    total += weight;
  }
  if (taps.empty() || total == 0) return {{std::clamp<int64_t>(base, 0, axis.in - 1), 1.0}};
  if (exclude_outside)
    for (auto& tap : taps) tap.second /= total;
  return taps;
}

Axis axis_of(const Call& call, size_t index) {
  const size_t rank = call.output().shape.size();
  const std::vector<double> scales = call.attrs.f64s(BP_ATTR_SCALES);
  const std::vector<double> roi = call.attrs.f64s(BP_ATTR_ROI);
  return {call.input(0).shape()[index], call.output().shape[index], scales.empty() ? 0 : scales[index],
          roi.empty() ? 0 : roi[index], roi.empty() ? 1 : roi[rank + index]};
}

// Whether the pass along this axis would leave everything as it is.
bool is_identity(const Axis& axis, bool crops) {
  return axis.in == axis.out && (axis.scale == 0 || axis.scale == 1) && (!crops || (axis.start == 0 && axis.stop == 1));
}

// Calls f(coordinate) for each index of y, with whether it is to be extrapolated.
template <class F>
void for_each_coordinate(const Call& call, const Axis& axis, F&& f) {
  const std::string mode = call.attrs.text(BP_ATTR_COORDINATE_MODE, "half_pixel");
  for (int64_t at = 0; at < axis.out; ++at) {
    const double coordinate = source_coordinate(axis, at, mode);
    f(coordinate, mode == "tf_crop_and_resize" && (coordinate < 0 || coordinate > static_cast<double>(axis.in - 1)));
  }
}

Outputs resize_nearest(const Call& call, bool crops) {
  const std::string rounding = call.attrs.text(BP_ATTR_NEAREST_MODE, "round_prefer_floor");
  std::vector<AxisSources> sources(call.output().shape.size());
  for (size_t index = 0; index < sources.size(); ++index) {
    const Axis axis = axis_of(call, index);
    if (is_identity(axis, crops))
      for (int64_t i = 0; i < axis.out; ++i) sources[index].push_back(i);
    else
      for_each_coordinate(call, axis, [&](double coordinate, bool outside) {
        const int64_t source = std::clamp<int64_t>(nearest(coordinate, rounding), 0, axis.in - 1);
        sources[index].push_back(outside ? kOutside : source);
      });
  }
  BP_TRY_ASSIGN(const HostTensor fill,
                store<double>({call.output().dtype, {}}, {call.attrs.f64(BP_ATTR_EXTRAPOLATION_VALUE, 0)}));
  return single(take(call.input(0), sources, fill.bytes()));
}

// y along one axis from x, whose extent there is taps' source.
std::vector<double> interpolate(const std::vector<double>& x, const AxisSplit& split, const std::vector<Taps>& taps,
                                double extrapolation) {
  std::vector<double> y;
  y.reserve(static_cast<size_t>(split.outer * split.inner) * taps.size());
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (const Taps& line : taps)
      for (int64_t inner = 0; inner < split.inner; ++inner) {
        double sum = line.empty() ? extrapolation : 0;
        for (const auto& [at, weight] : line)
          sum += weight * x[static_cast<size_t>((outer * split.extent + at) * split.inner + inner)];
        y.push_back(sum);
      }
  return y;
}

Outputs resize_interpolated(const Call& call, bool cubic, bool crops) {
  std::vector<double> values = load<double>(call.input(0));
  Shape shape = call.input(0).shape();
  for (size_t index = 0; index < shape.size(); ++index) {
    const Axis axis = axis_of(call, index);
    if (is_identity(axis, crops)) continue;
    std::vector<Taps> taps;
    for_each_coordinate(call, axis, [&](double coordinate, bool outside) {
      taps.push_back(outside ? Taps{} : interpolation_taps(call, axis, coordinate, cubic));
    });
    values = interpolate(values, split_at(shape, static_cast<int64_t>(index)), taps,
                         call.attrs.f64(BP_ATTR_EXTRAPOLATION_VALUE, 0));
    shape[index] = axis.out;
  }
  return single(store(call.output(), values));
}

}  // namespace

Outputs resize(const Call& call) {
  const std::string mode = call.attrs.text(BP_ATTR_MODE, "nearest");
  const bool crops = call.attrs.text(BP_ATTR_COORDINATE_MODE, "half_pixel") == "tf_crop_and_resize";
  if (product(call.output().shape) == 0) return single(HostTensor::zeros(call.output().dtype, call.output().shape));
  if (mode == "nearest") return resize_nearest(call, crops);
  return resize_interpolated(call, mode == "cubic", crops);
}

}  // namespace backplane::reference
