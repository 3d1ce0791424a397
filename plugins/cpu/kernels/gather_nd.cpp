// gather_nd: blocks of x, picked by tuples of indices into its leading axes.

#include "kernels/checks.hpp"
#include "kernels/families.hpp"
#include "kernels/index_checks.hpp"
#include "kernels/tuples.hpp"

namespace backplane_cpu {
namespace {

class GatherNdKernel final : public Kernel {
 public:
  GatherNdKernel(const NodeView& node, uint32_t batch_dims)
      : tuples_(node.input(0), node.input(1), batch_dims), output_(node.output(0)) {}
  uint32_t max_workers() const override { return workers_for(output_.count()); }
  void run(const RunArgs& args) const noexcept override {
    if (output_.count() == 0) return;
    const Range range = share(tuples_.count(), 16, args.worker, args.workers);
    for (int64_t tuple = range.begin; tuple < range.end; ++tuple) {
      const int64_t offset = tuples_.offset(args.inputs[1], tuple);
      if (offset < 0) return args.error->store(kIndexOutside);
      copy_block(args.inputs[0] + offset, args.outputs[0], tuple);
    }
  }

 private:
  void copy_block(const std::byte* from, std::byte* to, int64_t block) const {
    const Walk& inner = tuples_.block();
    alignas(64) std::byte stage[kChunk * 8];
    for (int64_t at = 0; at < inner.count(); at += kChunk) {
      const int64_t count = std::min(kChunk, inner.count() - at);
      inner.gather(from, at, count, stage);
      output_.scatter(stage, block * inner.count() + at, count, to);
    }
  }

  Tuples tuples_;
  Walk output_;
};

}  // namespace

Prepared prepare_gather_nd(const NodeView& node) {
  check_signature(node, 2, 2, 1, {BP_ATTR_BATCH_DIMS});
  check_moves(node);
  const int64_t batch_dims = node.i64(BP_ATTR_BATCH_DIMS, 0);
  check_shape(node.output(0), check_tuples(node, batch_dims));
  return {std::make_unique<GatherNdKernel>(node, static_cast<uint32_t>(batch_dims)), {}, 0};
}

}  // namespace backplane_cpu
