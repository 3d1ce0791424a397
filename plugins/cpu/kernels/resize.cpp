// resize: nearest moves elements; linear and cubic are separable sums of 2 or 4 taps per resized axis.

#include <cmath>
#include <cstring>

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/table_kernel.hpp"

namespace backplane_cpu {
namespace {

// The attributes of one node.
struct Settings {
  std::string mode, coordinates, nearest;
  double cubic_a, extrapolation;
  bool exclude_outside;
  std::vector<double> scales;  // empty: exactly out / in
  std::vector<double> roi;
};

// Which elements of the input an axis of the output is made of.
struct AxisTaps {
  int64_t in = 1, out = 1;
  int64_t taps = 1;
  std::vector<int64_t> index;    // out × taps
  std::vector<double> weight;    // out × taps
  std::vector<uint8_t> outside;  // per place: extrapolate
};

Settings read_settings(const NodeView& node) {
  Settings s;
  s.mode = node.text(BP_ATTR_MODE, "nearest");
  s.coordinates = node.text(BP_ATTR_COORDINATE_MODE, "half_pixel");
  s.nearest = node.text(BP_ATTR_NEAREST_MODE, "round_prefer_floor");
  s.cubic_a = node.f64(BP_ATTR_CUBIC_COEFF_A, -0.75);
  s.extrapolation = node.f64(BP_ATTR_EXTRAPOLATION_VALUE, 0);
  s.exclude_outside = node.i64(BP_ATTR_EXCLUDE_OUTSIDE, 0) != 0;
  const TensorView x = node.input(0), y = node.output(0);
  const std::span<const double> scales = node.f64s(BP_ATTR_SCALES), roi = node.f64s(BP_ATTR_ROI);
  require(node.i64(BP_ATTR_ANTIALIAS, 0) == 0, "antialias is not supported");
  require(s.mode == "nearest" || s.mode == "linear" || s.mode == "cubic", "mode must be nearest, linear or cubic");
  require(scales.empty() || scales.size() == x.rank(), "scales needs one entry per axis");
  require(s.coordinates != "tf_crop_and_resize" || roi.size() == 2 * size_t{x.rank()},
          "tf_crop_and_resize needs a roi of two entries per axis");
  for (uint32_t axis = 0; axis < x.rank(); ++axis) {
    require(scales.empty() || scales[axis] > 0 || y.shape()[axis] == 0, "scales must be positive");
  }
  s.scales.assign(scales.begin(), scales.end());
  s.roi.assign(roi.begin(), roi.end());
  return s;
}

// The input coordinate that place `i` of an axis stands for.
double source_coordinate(const Settings& s, uint32_t axis, int64_t place, int64_t in_extent, int64_t out_extent) {
  const double i = static_cast<double>(place), in = static_cast<double>(in_extent),
               out = static_cast<double>(out_extent);
  // Divides by the scale, rounding once where it is the ratio of the extents: a tie must stay a tie.
  const auto unscale = [&](double t) { return s.scales.empty() ? t * in / out : t / s.scales[axis]; };
  const double length = s.scales.empty() ? out : in * s.scales[axis];  // of the output, not rounded
  if (s.coordinates == "half_pixel") return unscale(i + 0.5) - 0.5;
  if (s.coordinates == "asymmetric") return unscale(i);
  if (s.coordinates == "pytorch_half_pixel") return out_extent > 1 ? unscale(i + 0.5) - 0.5 : 0;
  if (s.coordinates == "align_corners") return length != 1 ? i * (in - 1) / (length - 1) : 0;
  if (s.coordinates == "tf_half_pixel_for_nn") return unscale(i + 0.5);
  if (s.coordinates == "half_pixel_symmetric") return unscale(i + 0.5) - 0.5 + in / 2 * (1 - out / length);
  if (s.coordinates != "tf_crop_and_resize") refuse("coordinate_transformation_mode " + s.coordinates + " is unknown");
  const double start = s.roi[axis], end = s.roi[axis + s.roi.size() / 2];
  return length != 1 ? start * (in - 1) + i * (end - start) * (in - 1) / (length - 1) : 0.5 * (start + end) * (in - 1);
}

double nearest_coordinate(const Settings& s, double x) {
  if (s.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
  if (s.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
  if (s.nearest == "floor") return std::floor(x);
  if (s.nearest == "ceil") return std::ceil(x);
  refuse("nearest_mode " + s.nearest + " is unknown");
}

double cubic_weight(double a, double distance) {
  const double t = std::fabs(distance);
  if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// Appends the taps of one place whose source coordinate is x.
void add_taps(const Settings& s, double x, AxisTaps& axis) {
  const double last = static_cast<double>(axis.in - 1);
  const auto add = [&](double index, double weight) {
    axis.index.push_back(static_cast<int64_t>(std::clamp(index, 0.0, last)));
    axis.weight.push_back(weight);
  };
  if (s.mode == "nearest") return add(nearest_coordinate(s, x), 1);
  const double base = std::floor(x);
  if (s.mode == "linear") {
    add(base, 1 - (x - base));
    return add(base + 1, x - base);
  }
  double weights[4], sum = 0;
  for (int k = 0; k < 4; ++k) {
    const double index = base - 1 + k;
    const bool excluded = s.exclude_outside && (index < 0 || index > last);
    sum += weights[k] = excluded ? 0 : cubic_weight(s.cubic_a, x - index);
  }
  for (int k = 0; k < 4; ++k) add(base - 1 + k, s.exclude_outside ? weights[k] / sum : weights[k]);
}

std::vector<AxisTaps> make_taps(const NodeView& node, const Settings& s) {
  const TensorView x = node.input(0), y = node.output(0);
  const bool crop = s.coordinates == "tf_crop_and_resize";
  std::vector<AxisTaps> axes(x.rank());
  for (uint32_t i = 0; i < x.rank(); ++i) {
    AxisTaps& axis = axes[i];
    axis.in = x.shape()[i];
    axis.out = y.shape()[i];
    require(axis.in > 0 || axis.out == 0, "an empty axis cannot grow");
    const bool cropped = crop && (s.roi[i] != 0 || s.roi[i + x.rank()] != 1);
    const bool same = axis.in == axis.out && (s.scales.empty() || s.scales[i] == 1) && !cropped;
    axis.taps = same || s.mode == "nearest" ? 1 : s.mode == "linear" ? 2 : 4;
    for (int64_t place = 0; place < axis.out; ++place) {
      const double at = same ? static_cast<double>(place) : source_coordinate(s, i, place, axis.in, axis.out);
      axis.outside.push_back(crop && !same && (at < 0 || at > static_cast<double>(axis.in - 1)));
      if (same) {
        axis.index.push_back(place);
        axis.weight.push_back(1);
      } else {
        add_taps(s, at, axis);
      }
    }
  }
  return axes;
}

Prepared make_nearest(const NodeView& node, const Settings& s, const std::vector<AxisTaps>& axes) {
  const TensorView x = node.input(0), y = node.output(0);
  std::vector<std::vector<int64_t>> offsets;
  for (uint32_t i = 0; i < x.rank(); ++i) {
    std::vector<int64_t>& table = offsets.emplace_back();
    for (int64_t place = 0; place < axes[i].out; ++place)
      table.push_back(axes[i].outside[place] != 0 ? kOutside : axes[i].index[place] * x.strides()[i]);
  }
  std::array<std::byte, 8> outside{};
  const ConvertFn narrow = narrow_function(Compute::kF64, y.dtype());
  check_type(y, narrow != nullptr, "a plain type");
  narrow(&s.extrapolation, outside.data(), 1);
  return {std::make_unique<TableKernel>(std::move(offsets), y, false, outside), {}, 0};
}

// Row by row: the rows of the input that an output row is made of are added up, weighted, into one row, which is then
// resized along the innermost axis. An input that is not dense f32 or f64 is first converted as a whole. T is what
// sums are formed in.
template <class T>
class InterpolateKernel final : public Kernel {
 public:
  InterpolateKernel(const NodeView& node, std::vector<AxisTaps> axes, double extrapolation)
      : axes_(std::move(axes)),
        input_(node.input(0)),
        output_(node.output(0)),
        extrapolation_(static_cast<T>(extrapolation)) {
    converts_ = !input_.in_place() || node.input(0).dtype() != (std::is_same_v<T, float> ? BP_TYPE_F32 : BP_TYPE_F64);
    widen_ = std::is_same_v<T, float> ? widen_function(BP_TYPE_F32)
                                      : narrow_function(compute_of(node.input(0).dtype()), BP_TYPE_F64);
    narrow_ = narrow_function(std::is_same_v<T, float> ? Compute::kF32 : Compute::kF64, node.output(0).dtype());
    int64_t stride = 1;
    for (size_t i = axes_.size(); i-- > 0; stride *= axes_[i].in) strides_.insert(strides_.begin(), stride);
  }
  uint32_t phases() const override { return converts_ ? 2 : 1; }
  uint32_t max_workers() const override { return workers_for(output_.count() * 4); }
  size_t scratch_bytes(uint32_t workers) const override {
    return static_cast<size_t>(converted_count() + workers * row_room()) * sizeof(T);
  }
  void run(const RunArgs& args) const noexcept override {
    T* converted = reinterpret_cast<T*>(args.scratch);
    if (converts_ && args.phase == 0) return convert(args, converted);
    const T* source = converts_ ? converted : reinterpret_cast<const T*>(args.inputs[0]);
    T* blended = converted + converted_count() + args.worker * row_room();
    const int64_t rows = output_.count() == 0 ? 0 : output_.count() / axes_.back().out;
    const Range range = share(rows, 1, args.worker, args.workers);
    for (int64_t row = range.begin; row < range.end; ++row) {
      const bool outside = blend_rows(source, row, blended);
      resize_row(outside, row, blended, args.outputs[0]);
    }
  }

 private:
  int64_t converted_count() const { return converts_ ? (input_.walk().count() + 15) / 16 * 16 : 0; }
  int64_t row_room() const { return (axes_.back().in + 15) / 16 * 16; }

  void convert(const RunArgs& args, T* to) const {
    const Range range = share(input_.walk().count(), kChunk, args.worker, args.workers);
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = range.begin; at < range.end; at += kChunk) {
      const int64_t count = std::min(kChunk, range.end - at);
      widen_(input_.read(args.inputs[0], at, count, stage), to + at, count);
    }
  }

  // Sums the input rows of an output row; true if the row lies outside.
  bool blend_rows(const T* source, int64_t row, T* to) const {
    const size_t outer = axes_.size() - 1;
    int64_t place[kMaxRank], combinations = 1;
    bool outside = false;
    for (size_t i = outer; i-- > 0; row /= axes_[i].out) {
      place[i] = row % axes_[i].out;
      combinations *= axes_[i].taps;
      outside = outside || axes_[i].outside[place[i]] != 0;
    }
    const int64_t width = axes_.back().in;
    std::fill_n(to, width, T{0});
    for (int64_t c = 0; c < combinations && !outside; ++c) {
      int64_t digits = c, offset = 0;
      double weight = 1;
      for (size_t i = 0; i < outer; digits /= axes_[i].taps, ++i) {
        const int64_t tap = place[i] * axes_[i].taps + digits % axes_[i].taps;
        offset += axes_[i].index[tap] * strides_[i];
        weight *= axes_[i].weight[tap];
      }
      if (weight == 0) continue;
      const T factor = static_cast<T>(weight);
      const T* from = source + offset;
      for (int64_t i = 0; i < width; ++i) to[i] += factor * from[i];
    }
    return outside;
  }

  void resize_row(bool outside_row, int64_t row, const T* blended, std::byte* base) const {
    const AxisTaps& axis = axes_.back();
    alignas(64) T chunk[kChunk];
    alignas(64) std::byte narrow[kChunk * 8];
    for (int64_t at = 0; at < axis.out; at += kChunk) {
      const int64_t count = std::min(kChunk, axis.out - at);
      for (int64_t i = 0; i < count; ++i) {
        T sum{0};
        for (int64_t tap = (at + i) * axis.taps; tap < (at + i + 1) * axis.taps; ++tap)
          if (axis.weight[tap] != 0) sum += static_cast<T>(axis.weight[tap]) * blended[axis.index[tap]];
        chunk[i] = outside_row || axis.outside[at + i] != 0 ? extrapolation_ : sum;
      }
      narrow_(chunk, narrow, count);
      output_.scatter(narrow, row * axis.out + at, count, base);
    }
  }

  std::vector<AxisTaps> axes_;
  std::vector<int64_t> strides_;  // of the input as dense T, in elements
  ChunkReader input_;
  Walk output_;
  T extrapolation_;
  bool converts_ = false;
  ConvertFn widen_ = nullptr, narrow_ = nullptr;
};

}  // namespace

Prepared prepare_resize(const NodeView& node) {
  check_signature(
      node, 1, 1, 1,
      {BP_ATTR_SIZES, BP_ATTR_SCALES, BP_ATTR_MODE, BP_ATTR_COORDINATE_MODE, BP_ATTR_NEAREST_MODE,
       BP_ATTR_CUBIC_COEFF_A, BP_ATTR_EXCLUDE_OUTSIDE, BP_ATTR_EXTRAPOLATION_VALUE, BP_ATTR_ROI, BP_ATTR_ANTIALIAS});
  const TensorView x = node.input(0), y = node.output(0);
  check_type(x, is_number(x.dtype()), "a number");
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  require(x.rank() == y.rank() && x.rank() > 0, "resize keeps the rank, which is at least 1");
  if (node.find(BP_ATTR_SIZES) != nullptr) check_shape(y, node.i64s(BP_ATTR_SIZES));
  const Settings settings = read_settings(node);
  std::vector<AxisTaps> axes = make_taps(node, settings);
  if (settings.mode == "nearest") return make_nearest(node, settings, axes);
  if (compute_of(x.dtype()) == Compute::kF32)
    return {std::make_unique<InterpolateKernel<float>>(node, std::move(axes), settings.extrapolation), {}, 0};
  return {std::make_unique<InterpolateKernel<double>>(node, std::move(axes), settings.extrapolation), {}, 0};
}

}  // namespace backplane_cpu
