#include "lowering/antialias.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backplane/base/text.hpp"
#include "lowering/formula.hpp"

namespace backplane::onnx_import {
namespace {

using Shape = std::vector<int64_t>;

struct Axis {
  int64_t in, out;
  double scale, begin, end;  // begin and end of the region, as parts of the axis
};

// Where element `at` of the output lies in the input.
Result<double> source_place(const Axis& axis, const std::string& mode, double at) {
  const auto in = static_cast<double>(axis.in);
  const double length = axis.scale * in;  // of the output, before it was rounded
  if (mode == "half_pixel") return (at + 0.5) / axis.scale - 0.5;
  if (mode == "pytorch_half_pixel") return length == 1 ? -0.5 : (at + 0.5) / axis.scale - 0.5;
  if (mode == "asymmetric") return at / axis.scale;
  if (mode == "align_corners") return length == 1 ? 0.0 : at * (in - 1) / (length - 1);
  if (mode == "half_pixel_symmetric") {
    const double left_out = in / 2 * (1 - static_cast<double>(axis.out) / length);
    return left_out + (at + 0.5) / axis.scale - 0.5;
  }
  if (mode != "tf_crop_and_resize") return invalid_argument(cat("coordinate mode '", mode, "' is not known"));
  const double region = (axis.end - axis.begin) * (in - 1);
  return axis.begin * (in - 1) + (length == 1 ? region / 2 : at * region / (length - 1));
}

double linear_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

double cubic_weight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// Adds the weights of the input's elements for one at `place` to `row`, whose sum they make 1. What lies beyond the
// ends is the end's element again.
Status add_weights(const AntialiasedResize& how, double scale, double place, std::span<double> row) {
  const double shrink = std::min(scale, 1.0);
  const double reach = (how.is_cubic ? 2 : 1) / shrink;
  const auto last = static_cast<int64_t>(row.size()) - 1;
  for (auto at = static_cast<int64_t>(std::ceil(place - reach)); static_cast<double>(at) <= place + reach; ++at) {
    if (how.excludes_outside && (at < 0 || at > last)) continue;
    const double distance = (static_cast<double>(at) - place) * shrink;
    row[static_cast<size_t>(std::clamp<int64_t>(at, 0, last))] +=
        how.is_cubic ? cubic_weight(distance, how.cubic_a) : linear_weight(distance);
  }
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  if (sum == 0) return invalid_argument(cat("nothing of the input is near ", place, ", where it samples"));
  for (double& weight : row) weight /= sum;
  return ok_status();
}

// A row of weights for each output element, and what is added to it.
struct Filter {
  std::vector<double> weights, added;
};

Result<Filter> filter_of(const AntialiasedResize& how, const Axis& axis) {
  Filter filter{std::vector<double>(static_cast<size_t>(axis.in * axis.out)),
                std::vector<double>(static_cast<size_t>(axis.out))};
  const auto width = static_cast<size_t>(axis.in);
  for (size_t at = 0; at < filter.added.size(); ++at) {
    BP_TRY_ASSIGN(const double place, source_place(axis, how.coordinates, static_cast<double>(at)));
    const bool is_inside = place >= 0 && place <= static_cast<double>(axis.in - 1);
    if (how.coordinates == "tf_crop_and_resize" && !is_inside) {
      filter.added[at] = how.outside;
    } else {
      BP_TRY(add_weights(how, axis.scale, place, std::span(filter.weights).subspan(at * width, width)));
    }
  }
  return filter;
}

// The filter along an axis of x: the axis goes to the end, through a product, and back.
TensorId filtered(Formula& f, TensorId x, size_t axis, const Filter& filter) {
  Shape order(f.shape(x).size());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order[axis], order.back());
  const auto out = static_cast<int64_t>(filter.added.size());
  const auto in = static_cast<int64_t>(filter.weights.size()) / out;
  const TensorId weights = f.permute(f.reshape(f.list(f.dtype(x), filter.weights), {out, in}), {1, 0});
  TensorId y = f.op(Op::kMATMUL, {f.permute(x, order), weights});
  if (std::any_of(filter.added.begin(), filter.added.end(), [](double value) { return value != 0; })) {
    y = f.add(y, f.list(f.dtype(x), filter.added));
  }
  return f.permute(y, order);
}

}  // namespace

Result<TensorId> resize_antialiased(NodeContext& c, TensorId x, const AntialiasedResize& how) {
  const DType dtype = c.emit.dtype(x);
  if (!is_float(dtype)) return unimplemented(cat("antialias of ", type_name(dtype), " is not supported"));
  const Shape shape = c.emit.shape(x);
  Formula f(c.emit);
  TensorId y = f.cast(x, dtype == DType::kF64 ? dtype : DType::kF32);
  for (size_t at = 0; at < shape.size(); ++at) {
    const bool crops = how.coordinates == "tf_crop_and_resize";
    const Axis axis{shape[at], how.sizes[at], how.scales[at], crops ? how.roi[at] : 0,
                    crops ? how.roi[at + shape.size()] : 1};
    const bool is_whole = !crops || (axis.begin == 0 && axis.end == 1);
    if (axis.in == axis.out && axis.scale == 1 && is_whole) continue;
    if (axis.in < 1 || axis.out < 1) return invalid_argument("it resizes from or to nothing");
    int64_t weights = 0;
    if (__builtin_mul_overflow(axis.in, axis.out, &weights)) weights = INT64_MAX;
    BP_TRY(c.emit.claim(weights));
    BP_TRY_ASSIGN(const Filter filter, filter_of(how, axis));
    y = filtered(f, y, at, filter);
  }
  return f.result(f.cast(y, dtype));
}

}  // namespace backplane::onnx_import
