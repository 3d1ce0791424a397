// rope: phase 0 makes a table of sines and cosines, phase 1 turns the pairs of each row. Angles are f64.

#include <cmath>
#include <cstring>

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"

namespace backplane_cpu {
namespace {

template <class T>
class RopeKernel final : public Kernel {
 public:
  RopeKernel(const NodeView& node, int64_t turned)
      : positions_(node.input(1)),
        has_factors_(node.has_input(2)),
        interleaved_(node.i64(BP_ATTR_INTERLEAVED, 0) != 0),
        half_(turned / 2),
        width_(node.input(0).shape().back()),
        x_stride_(node.input(0).strides().back()),
        y_stride_(node.output(0).strides().back()) {
    const TensorView x = node.input(0), y = node.output(0), positions = node.input(1);
    const auto rows = x.shape().first(x.rank() - 1);
    x_rows_ = Walk(rows, x.strides().first(x.rank() - 1), 1);
    y_rows_ = Walk(rows, y.strides().first(y.rank() - 1), 1);
    table_rows_ = table_walk(positions.shape(), rows);
    if (has_factors_) factors_ = Walk(node.input(2));
    const double base = node.f64(BP_ATTR_BASE, 10000), scale = node.f64(BP_ATTR_SCALE, 1);
    for (int64_t i = 0; i < half_; ++i)
      frequencies_.push_back(scale * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(turned)));
  }
  uint32_t phases() const override { return 2; }
  size_t scratch_bytes(uint32_t) const override {
    return static_cast<size_t>(positions_.walk().count() * half_ * 2) * sizeof(T);
  }
  uint32_t max_workers() const override {
    return workers_for(x_rows_.count() * width_ + 16 * positions_.walk().count() * half_);
  }

  void run(const RunArgs& args) const noexcept override {
    if (x_rows_.count() == 0 || width_ == 0) return;
    T* table = reinterpret_cast<T*>(args.scratch);
    if (args.phase == 0) return fill(args, table);
    const Range range = share(x_rows_.count(), 1, args.worker, args.workers);
    for (int64_t row = range.begin; row < range.end; ++row)
      turn(args.inputs[0] + x_rows_.position(row), table + table_rows_.position(row) * half_ * 2,
           args.outputs[0] + y_rows_.position(row));
  }

 private:
  // The position of each row, as an index into the positions.
  static Walk table_walk(std::span<const int64_t> positions, std::span<const int64_t> rows) {
    require(positions.size() <= rows.size(), "the positions have more axes than there are rows");
    std::vector<int64_t> strides(rows.size(), 0);
    int64_t stride = 1;
    for (size_t i = 1; i <= positions.size(); ++i) {
      const int64_t extent = positions[positions.size() - i];
      require(extent == 1 || extent == rows[rows.size() - i], "the positions do not broadcast to the rows");
      if (extent != 1) strides[rows.size() - i] = stride;
      stride *= extent;
    }
    return Walk(rows, strides, 1);
  }

  void fill(const RunArgs& args, T* table) const {
    alignas(64) std::byte stage[8];
    const Range range = share(half_ == 0 ? 0 : positions_.walk().count(), 1, args.worker, args.workers);
    for (int64_t at = range.begin; at < range.end; ++at) {
      int64_t position = 0;
      std::memcpy(&position, positions_.read(args.inputs[1], at, 1, stage), sizeof position);
      T* out = table + at * half_ * 2;
      for (int64_t i = 0; i < half_; ++i) {
        float factor = 1;
        if (has_factors_) std::memcpy(&factor, args.inputs[2] + factors_.position(i), sizeof factor);
        const double angle =
            static_cast<double>(position) * (frequencies_[static_cast<size_t>(i)] / static_cast<double>(factor));
        *out++ = static_cast<T>(std::cos(angle));
        *out++ = static_cast<T>(std::sin(angle));
      }
    }
  }

  // y may be x: a pair is read before it is written.
  void turn(const std::byte* x, const T* table, std::byte* y) const {
    const auto element = [](auto* base, int64_t stride, int64_t i) { return base + i * stride; };
    const int64_t step = interleaved_ ? 2 : 1, apart = interleaved_ ? 1 : half_;
    for (int64_t i = 0; i < half_; ++i, table += 2) {
      const int64_t first = i * step, second = first + apart;
      T a, b;
      std::memcpy(&a, element(x, x_stride_, first), sizeof a);
      std::memcpy(&b, element(x, x_stride_, second), sizeof b);
      const T turned[2] = {a * table[0] - b * table[1], a * table[1] + b * table[0]};
      std::memcpy(element(y, y_stride_, first), &turned[0], sizeof(T));
      std::memcpy(element(y, y_stride_, second), &turned[1], sizeof(T));
    }
    for (int64_t i = 2 * half_; i < width_; ++i)
      std::memmove(element(y, y_stride_, i), element(x, x_stride_, i), sizeof(T));
  }

  ChunkReader positions_;
  Walk factors_;
  bool has_factors_, interleaved_;
  int64_t half_, width_, x_stride_, y_stride_;
  Walk x_rows_, y_rows_, table_rows_;
  std::vector<double> frequencies_;
};

}  // namespace

Prepared prepare_rope(const NodeView& node) {
  check_signature(node, 2, 3, 1, {BP_ATTR_INTERLEAVED, BP_ATTR_ROTARY_DIM, BP_ATTR_BASE, BP_ATTR_SCALE});
  const TensorView x = node.input(0), y = node.output(0);
  check_type(x, x.dtype() == BP_TYPE_F32 || x.dtype() == BP_TYPE_F64, "f32 or f64");
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  check_shape(y, x.shape());
  check_index_type(node.input(1));
  require(x.rank() >= 1, "rows");
  const int64_t turned = node.i64(BP_ATTR_ROTARY_DIM, x.shape().back());
  require(turned >= 0 && turned % 2 == 0 && turned <= x.shape().back(), "rotary_dim must be even and within a row");
  if (node.has_input(2)) {
    check_type(node.input(2), node.input(2).dtype() == BP_TYPE_F32, "f32 factors");
    check_shape(node.input(2), std::array<int64_t, 1>{turned / 2});
  }
  if (x.dtype() == BP_TYPE_F64) return {std::make_unique<RopeKernel<double>>(node, turned), {}, 1};
  return {std::make_unique<RopeKernel<float>>(node, turned), {}, 1};
}

}  // namespace backplane_cpu
