// quantize_linear, dequantize_linear and dynamic_quantize_linear.

#include <cmath>
#include <limits>

#include "kernels/checks.hpp"
#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

bool is_quantised(uint32_t dtype) {
  return dtype == BP_TYPE_U8 || dtype == BP_TYPE_I8 || dtype == BP_TYPE_U16 || dtype == BP_TYPE_I16;
}

// round(x / scale) + zero point within [low, high]; NaN gives the zero point.
template <class T>
int64_t quantized(T x, T scale, int64_t zero_point, double low, double high) {
  const T quotient = x / scale;
  if (quotient != quotient) return zero_point;
  const double value = static_cast<double>(std::nearbyint(quotient)) + static_cast<double>(zero_point);
  return static_cast<int64_t>(value < low ? low : value > high ? high : value);
}

template <class T>
void quantize_chunk(const Chunk& chunk) {
  const T *x = static_cast<const T*>(chunk.in[0]), *scale = static_cast<const T*>(chunk.in[1]);
  const auto* zero_point = static_cast<const int64_t*>(chunk.in[2]);
  auto* y = static_cast<int64_t*>(chunk.out);
  for (int64_t i = 0; i < chunk.count; ++i)
    y[i] = quantized(x[i], scale[i], zero_point != nullptr ? zero_point[i] : 0, chunk.params[0], chunk.params[1]);
}

template <class T>
void dequantize_chunk(const Chunk& chunk) {
  const auto *x = static_cast<const int64_t*>(chunk.in[0]), *zero_point = static_cast<const int64_t*>(chunk.in[2]);
  const T* scale = static_cast<const T*>(chunk.in[1]);
  auto* y = static_cast<double*>(chunk.out);
  for (int64_t i = 0; i < chunk.count; ++i)
    y[i] = static_cast<double>(x[i] - (zero_point != nullptr ? zero_point[i] : 0)) * static_cast<double>(scale[i]);
}

// Phase 0 finds each worker's range, phase 1 merges them and quantises.
class DynamicQuantizeKernel final : public Kernel {
 public:
  explicit DynamicQuantizeKernel(const NodeView& node)
      : input_(node.input(0)),
        output_(node.has_output(0) ? Walk(node.output(0)) : Walk()),
        wanted_{node.has_output(0), node.has_output(1), node.has_output(2)} {}
  uint32_t phases() const override { return 2; }
  size_t scratch_bytes(uint32_t workers) const override { return workers * kSlot; }
  uint32_t max_workers() const override { return workers_for(input_.walk().count()); }
  void run(const RunArgs& args) const noexcept override { return args.phase == 0 ? measure(args) : quantize(args); }

 private:
  static constexpr size_t kSlot = 64;
  struct Extremes {
    float low = 0, high = 0;  // the range always holds 0
    void include(float value) {
      if (value < low || value != value) low = value;  // NaN stays
      if (value > high || value != value) high = value;
    }
  };

  Range part(const RunArgs& args) const { return share(input_.walk().count(), kChunk, args.worker, args.workers); }

  void measure(const RunArgs& args) const {
    alignas(64) std::byte stage[kChunk * 8];
    Extremes extremes;
    const Range range = part(args);
    for (int64_t at = range.begin; at < range.end; at += kChunk) {
      const int64_t count = std::min(kChunk, range.end - at);
      const auto* x = static_cast<const float*>(input_.read(args.inputs[0], at, count, stage));
      for (int64_t i = 0; i < count; ++i) extremes.include(x[i]);
    }
    std::memcpy(args.scratch + args.worker * kSlot, &extremes, sizeof extremes);
  }

  void quantize(const RunArgs& args) const {
    Extremes all;
    for (uint32_t worker = 0; worker < args.workers; ++worker) {
      const auto extremes = load_element<Extremes>(args.scratch + worker * kSlot);
      all.include(extremes.low);
      all.include(extremes.high);
    }
    float scale = (all.high - all.low) / 255;
    if (scale == 0) scale = 1;
    const int64_t zero_point = quantized(-all.low, scale, 0, 0, 255);
    if (args.worker == 0 && wanted_[1]) store_element(args.outputs[1], scale);
    if (args.worker == 0 && wanted_[2]) store_element(args.outputs[2], static_cast<uint8_t>(zero_point));
    if (!wanted_[0]) return;
    alignas(64) std::byte stage[kChunk * 8];
    uint8_t chunk[kChunk];
    const Range range = part(args);
    for (int64_t at = range.begin; at < range.end; at += kChunk) {
      const int64_t count = std::min(kChunk, range.end - at);
      const auto* x = static_cast<const float*>(input_.read(args.inputs[0], at, count, stage));
      for (int64_t i = 0; i < count; ++i) chunk[i] = static_cast<uint8_t>(quantized(x[i], scale, zero_point, 0, 255));
      output_.scatter(reinterpret_cast<const std::byte*>(chunk), at, count, args.outputs[0]);
    }
  }

  ChunkReader input_;
  Walk output_;
  std::array<bool, 3> wanted_;
};

}  // namespace

Prepared prepare_quantize(const NodeView& node) {
  check_signature(node, 2, 3, 1, {BP_ATTR_TO});
  const TensorView x = node.input(0), y = node.output(0);
  check_type(x, is_float(x.dtype()), "a float");
  check_type(node.input(1), node.input(1).dtype() == x.dtype(), "the type of input 0");
  check_type(y, is_quantised(y.dtype()), "u8, i8, u16 or i16");
  require(node.i64(BP_ATTR_TO, BP_TYPE_U8) == y.dtype(), "attribute `to` must be the output's type");
  if (node.has_input(2)) check_type(node.input(2), node.input(2).dtype() == y.dtype(), "the output's type");
  check_shape(y, x.shape());
  const double high =
      std::ldexp(1.0, static_cast<int>(8 * element_bytes(y.dtype())) - (is_unsigned(y.dtype()) ? 0 : 1));
  const std::array<double, 2> limits = {is_unsigned(y.dtype()) ? 0 : -high, high - 1};
  const ChunkFn function = x.dtype() == BP_TYPE_F64 ? quantize_chunk<double> : quantize_chunk<float>;
  return {std::make_unique<ElementwiseKernel>(node, Compute::kI64, function, limits), {}, 0};
}

Prepared prepare_dequantize(const NodeView& node) {
  check_signature(node, 2, 3, 1);
  const TensorView x = node.input(0), scale = node.input(1), y = node.output(0);
  check_type(x, is_quantised(x.dtype()) || x.dtype() == BP_TYPE_I32, "u8, i8, u16, i16 or i32");
  check_type(scale, is_float(scale.dtype()), "a float");
  check_type(y, y.dtype() == scale.dtype(), "the scale's type");
  if (node.has_input(2)) check_type(node.input(2), node.input(2).dtype() == x.dtype(), "the type of input 0");
  check_shape(y, x.shape());
  const ChunkFn function = scale.dtype() == BP_TYPE_F64 ? dequantize_chunk<double> : dequantize_chunk<float>;
  return {std::make_unique<ElementwiseKernel>(node, Compute::kF64, function), {}, 0};
}

Prepared prepare_dynamic_quantize(const NodeView& node) {
  require(node.input_count() == 1 && node.has_input(0) && node.output_count() <= 3, "1 input and up to 3 outputs");
  require(node.unknown_attr({}) == nullptr, "no attributes");
  const TensorView x = node.input(0);
  check_type(x, x.dtype() == BP_TYPE_F32, "f32");
  static constexpr uint32_t kTypes[] = {BP_TYPE_U8, BP_TYPE_F32, BP_TYPE_U8};
  for (uint32_t i = 0; i < 3; ++i) {
    if (!node.has_output(i)) continue;
    check_type(node.output(i), node.output(i).dtype() == kTypes[i], i == 1 ? "f32" : "u8");
    check_shape(node.output(i), i == 0 ? x.shape() : std::span<const int64_t>());
  }
  return {std::make_unique<DynamicQuantizeKernel>(node), {}, 0};
}

}  // namespace backplane_cpu
