// arg_max and arg_min along one axis. NaN counts as the largest (smallest) value.

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

template <class T>
class ArgReduceKernel final : public Kernel {
 public:
  ArgReduceKernel(const NodeView& node, uint32_t axis)
      : output_(node.output(0)),
        largest_(node.op() == BP_OP_ARG_MAX),
        last_(node.i64(BP_ATTR_SELECT_LAST_INDEX, 0) != 0) {
    const TensorView x = node.input(0);
    const size_t element = element_bytes(x.dtype());
    std::vector<int64_t> shape(x.shape().begin(), x.shape().end()), strides(x.strides().begin(), x.strides().end());
    row_ = ChunkReader(x.dtype(), Walk({&shape[axis], 1}, {&strides[axis], 1}, element));
    shape.erase(shape.begin() + axis);
    strides.erase(strides.begin() + axis);
    kept_ = Walk(shape, strides, element);
  }
  uint32_t max_workers() const override { return workers_for(output_.count() * row_.walk().count()); }
  void run(const RunArgs& args) const noexcept override {
    const Range range = share(output_.count(), 1, args.worker, args.workers);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t best = find(args.inputs[0] + kept_.position(i));
      output_.scatter(reinterpret_cast<const std::byte*>(&best), i, 1, args.outputs[0]);
    }
  }

 private:
  int64_t find(const std::byte* base) const {
    alignas(64) std::byte stage[kChunk * 8];
    int64_t best = 0;
    T value{};
    for (int64_t at = 0; at < row_.walk().count(); at += kChunk) {
      const int64_t count = std::min(kChunk, row_.walk().count() - at);
      const T* x = static_cast<const T*>(row_.read(base, at, count, stage));
      for (int64_t i = 0; i < count; ++i) {
        if (at + i != 0 && !replaces(x[i], value)) continue;
        best = at + i;
        value = x[i];
      }
    }
    return best;
  }
  bool replaces(T x, T value) const {
    if (value != value) return last_ && x != x;
    if (x != x) return true;
    return (largest_ ? x > value : x < value) || (last_ && x == value);
  }

  ChunkReader row_;
  Walk kept_, output_;
  bool largest_, last_;
};

}  // namespace

Prepared prepare_arg_reduce(const NodeView& node) {
  check_signature(node, 1, 1, 1, {BP_ATTR_AXIS, BP_ATTR_KEEPDIMS, BP_ATTR_SELECT_LAST_INDEX});
  const TensorView x = node.input(0), y = node.output(0);
  const int64_t axis = node.i64(BP_ATTR_AXIS, 0);
  require(axis >= 0 && axis < x.rank(), "arg_max and arg_min need an axis of their input");
  std::vector<int64_t> wanted(x.shape().begin(), x.shape().end());
  wanted[axis] = 1;
  if (node.i64(BP_ATTR_KEEPDIMS, 1) == 0) wanted.erase(wanted.begin() + axis);
  check_shape(y, wanted);
  check_type(y, y.dtype() == BP_TYPE_I64, "i64 for the output");
  require(x.shape()[axis] > 0 || y.elements() == 0, "an empty axis has no largest element");
  const uint32_t at = static_cast<uint32_t>(axis);
  check_type(x, is_number(x.dtype()), "a number");
  switch (compute_of(x.dtype())) {
    case Compute::kF32:
      return {std::make_unique<ArgReduceKernel<float>>(node, at), {}, 0};
    case Compute::kF64:
      return {std::make_unique<ArgReduceKernel<double>>(node, at), {}, 0};
    case Compute::kU64:
      return {std::make_unique<ArgReduceKernel<uint64_t>>(node, at), {}, 0};
    default:
      return {std::make_unique<ArgReduceKernel<int64_t>>(node, at), {}, 0};
  }
}

}  // namespace backplane_cpu
