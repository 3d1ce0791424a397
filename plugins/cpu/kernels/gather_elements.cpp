// gather_elements: y[i, j, ...] = x[..., indices[i, j, ...], ...], the index standing in the place of one axis.

#include "kernels/checks.hpp"
#include "kernels/element_types.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"
#include "kernels/odometer.hpp"

namespace backplane_cpu {
namespace {

class GatherElementsKernel final : public Kernel {
 public:
  GatherElementsKernel(const NodeView& node, uint32_t axis)
      : shape_(node.output(0).shape().begin(), node.output(0).shape().end()),
        strides_(node.input(0).strides().begin(), node.input(0).strides().end()),
        indices_(node.input(1)),
        output_(node.output(0)),
        extent_(node.input(0).shape()[axis]),
        along_(strides_[axis]) {
    strides_[axis] = 0;  // the index takes the axis' place
  }
  uint32_t max_workers() const override { return workers_for(output_.count()); }
  void run(const RunArgs& args) const noexcept override {
    with_bits_type(output_.element(), [&](auto bits) { gather<decltype(bits)>(args); });
  }

 private:
  template <class T>
  void gather(const RunArgs& args) const {
    const Range range = share(output_.count(), kChunk, args.worker, args.workers);
    if (range.begin >= range.end) return;
    alignas(64) std::byte stage[kChunk * 8];
    alignas(64) T chunk[kChunk];
    Odometer line(shape_, strides_, range.begin);
    for (int64_t at = range.begin; at < range.end; at += kChunk) {
      const int64_t count = std::min(kChunk, range.end - at);
      const auto* indices = static_cast<const int64_t*>(indices_.read(args.inputs[1], at, count, stage));
      for (int64_t i = 0; i < count; ++i, line.next()) {
        const int64_t index = indices[i] < 0 ? indices[i] + extent_ : indices[i];
        if (index < 0 || index >= extent_) return args.error->store(kIndexOutside);
        chunk[i] = load_element<T>(args.inputs[0] + line.offset() + index * along_);
      }
      output_.scatter(reinterpret_cast<const std::byte*>(chunk), at, count, args.outputs[0]);
    }
  }

  std::vector<int64_t> shape_, strides_;
  ChunkReader indices_;
  Walk output_;
  int64_t extent_, along_;
};

}  // namespace

Prepared prepare_gather_elements(const NodeView& node) {
  check_signature(node, 2, 2, 1, {BP_ATTR_AXIS});
  check_moves(node);
  const uint32_t axis = check_element_indices(node);
  check_shape(node.output(0), node.input(1).shape());
  return {std::make_unique<GatherElementsKernel>(node, axis), {}, 0};
}

}  // namespace backplane_cpu
