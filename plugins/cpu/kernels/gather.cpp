// gather: y[outer, indices, inner] = x[outer, index, inner]; of block-quantised tensors, whole blocks.

#include <cstring>

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"

namespace backplane_cpu {
namespace {

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const NodeView& node, uint32_t axis) : indices_(node.input(1)), output_(node.output(0)) {
    const TensorView x = node.input(0);
    const size_t element = backplane::sdk::type_layout(x.dtype()).block_bytes;
    const std::vector<int64_t> extents = unit_extents(x);
    outer_ = Walk(x.shape().first(axis), x.strides().first(axis), element);
    inner_ = Walk(std::span(extents).subspan(axis + 1), x.strides().subspan(axis + 1), element);
    extent_ = x.shape()[axis];
    stride_ = x.strides()[axis];
  }
  uint32_t max_workers() const override { return workers_for(output_.count()); }

  void run(const RunArgs& args) const noexcept override {
    if (output_.count() == 0) return;
    const int64_t index_count = indices_.walk().count();
    const Range range = share(outer_.count() * index_count, 16, args.worker, args.workers);
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = range.begin; at < range.end; ++at) {
      int64_t index = 0;
      std::memcpy(&index, indices_.read(args.inputs[1], at % index_count, 1, stage), sizeof index);
      if (index < 0) index += extent_;
      if (index < 0 || index >= extent_) {
        args.error->store("an index lies outside the gathered axis");
        return;
      }
      copy_block(args.inputs[0] + outer_.position(at / index_count) + index * stride_, args.outputs[0], at);
    }
  }

 private:
  void copy_block(const std::byte* from, std::byte* to, int64_t block) const {
    const int64_t size = inner_.count(), element = static_cast<int64_t>(inner_.element());
    if (output_.dense()) return inner_.gather(from, 0, size, to + block * size * element);
    alignas(64) std::byte stage[kChunk * 8];
    const int64_t room = static_cast<int64_t>(sizeof stage) / element;
    for (int64_t at = 0; at < size; at += room) {
      const int64_t count = std::min(room, size - at);
      inner_.gather(from, at, count, stage);
      output_.scatter(stage, block * size + at, count, to);
    }
  }

  ChunkReader indices_;
  Walk output_, outer_, inner_;
  int64_t extent_ = 0, stride_ = 0;
};

}  // namespace

Prepared prepare_gather(const NodeView& node) {
  check_signature(node, 2, 2, 1, {BP_ATTR_AXIS});
  const TensorView x = node.input(0), indices = node.input(1), y = node.output(0);
  check_type(y, y.dtype() == x.dtype(), "the type of input 0");
  check_index_type(indices);
  const int64_t axis = node.i64(BP_ATTR_AXIS, 0);
  require(axis >= 0 && axis < x.rank(), "gather needs an axis of its input");
  require(element_bytes(x.dtype()) != 0 || axis + 1 < x.rank(), "the elements of a block cannot be gathered");
  std::vector<int64_t> wanted(x.shape().begin(), x.shape().begin() + axis);
  wanted.insert(wanted.end(), indices.shape().begin(), indices.shape().end());
  wanted.insert(wanted.end(), x.shape().begin() + axis + 1, x.shape().end());
  check_shape(y, wanted);
  return {std::make_unique<GatherKernel>(node, static_cast<uint32_t>(axis)), {}, 0};
}

}  // namespace backplane_cpu
