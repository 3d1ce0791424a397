// im2col: what each tap of a window meets at each of its places; elements are moved, whatever their type.

#include "kernels/checks.hpp"
#include "kernels/conv_window.hpp"
#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

// T is an unsigned integer of the element's size. A row of y is one tap of one channel.
template <class T>
class Im2colKernel final : public Kernel {
 public:
  Im2colKernel(const NodeView& node, const Window& window) : window_(window) {
    const TensorView x = node.input(0), y = node.output(0);
    planes_ = Walk(x.shape().first(2), x.strides().first(2), 1);
    rows_ = Walk(y.shape().first(2), y.strides().first(2), 1);
    column_ = y.strides()[2];
  }
  uint32_t max_workers() const override { return workers_for(rows_.count() * window_.out_count()); }
  void run(const RunArgs& args) const noexcept override {
    const Range range = share(window_.out_count() == 0 ? 0 : rows_.count(), 1, args.worker, args.workers);
    for (int64_t row = range.begin; row < range.end; ++row)
      read_row(args.inputs[0] + planes_.position(row / window_.taps()), row % window_.taps(),
               args.outputs[0] + rows_.position(row));
  }

 private:
  void read_row(const std::byte* plane, int64_t tap, std::byte* y) const {
    const Window& w = window_;
    const int64_t tap_d = tap / (w.kernel[1] * w.kernel[2]), tap_h = tap / w.kernel[2] % w.kernel[1];
    for (int64_t d = 0; d < w.out[0]; ++d)
      for (int64_t h = 0; h < w.out[1]; ++h, y += w.out[2] * column_) {
        const int64_t at_d = w.coordinate(0, d, tap_d), at_h = w.coordinate(1, h, tap_h);
        const bool inside = w.inside(0, at_d) && w.inside(1, at_h);
        read_line(inside ? plane + (at_d * w.x_stride[0] + at_h * w.x_stride[1]) * kBytes : nullptr,
                  w.coordinate(2, 0, tap % w.kernel[2]), y);
      }
  }

  // `line` is null in the padding.
  void read_line(const std::byte* line, int64_t at, std::byte* y) const {
    for (int64_t i = 0; i < window_.out[2]; ++i, at += window_.stride[2], y += column_)
      store_element(y, line != nullptr && window_.inside(2, at)
                           ? load_element<T>(line + at * window_.x_stride[2] * kBytes)
                           : T{0});
  }

  static constexpr int64_t kBytes = sizeof(T);
  Window window_;
  Walk planes_, rows_;
  int64_t column_ = 0;  // bytes
};

}  // namespace

Prepared prepare_im2col(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_KERNEL_SHAPE, BP_ATTR_STRIDES, BP_ATTR_DILATIONS, BP_ATTR_PADS});
  const Operand x = input_operand(node, 0, "x");
  const size_t element = element_bytes(x.dtype);
  check_type(node.input(0), element != 0, "a plain type");
  check_type(node.output(0), node.output(0).dtype() == x.dtype, "the type of input 0");
  const uint32_t axes = spatial_rank(node, x);
  const std::vector<int64_t> kernel = read_list(node, BP_ATTR_KERNEL_SHAPE, "kernel_shape", axes, 0, 1);
  const SpatialAttrs attrs = read_spatial_attrs(node, axes);
  Operand places = x;
  std::vector<int64_t> wanted{x.shape[0], x.shape[1], 1};
  for (uint32_t axis = 0; axis < axes; ++axis) {
    places.shape[2 + axis] = window_count(x.shape[2 + axis], attrs.pads[axis], attrs.pads[axis + axes], kernel[axis],
                                          attrs.strides[axis], attrs.dilations[axis], false);
    wanted[1] *= kernel[axis];
    wanted[2] *= places.shape[2 + axis];
  }
  check_shape(node.output(0), wanted);
  const Window window = make_window(x, places, kernel, attrs);
  return with_bits_type(element, [&](auto bits) -> Prepared {
    return {std::make_unique<Im2colKernel<decltype(bits)>>(node, window), {}, 0};
  });
}

}  // namespace backplane_cpu
