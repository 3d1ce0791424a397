#include "kernels/staged.hpp"

#include <array>
#include <optional>

#include "kernels/checks.hpp"
#include "kernels/elementwise.hpp"

namespace backplane_cpu {
namespace {

constexpr uint32_t kMaxStaged = 8;  // inputs of a kernel, and outputs
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A graph of one node like a given one, but for its op and the types of its operands, which are dense if they change.
class OneNodeGraph {
 public:
  OneNodeGraph(const NodeView& node, const Staging& staging) {
    for (uint32_t i = 0; i < staging.inputs.size(); ++i)
      u32_.push_back(node.has_input(i) ? add(node.input(i), staging.inputs[i].dtype) : BP_NONE);
    for (uint32_t i = 0; i < node.output_count(); ++i)
      u32_.push_back(node.has_output(i) ? add(node.output(i), staging.outputs[i]) : BP_NONE);
    for (uint32_t i = 0; i < node.attr_count(); ++i) add(node, node.attr(i));
    node_ = node.record();
    node_.op = staging.op;
    node_.in_at = 0;
    node_.in_count = static_cast<uint32_t>(staging.inputs.size());
    node_.out_at = node_.in_count;
    node_.attr_at = 0;
    fill();
  }
  OneNodeGraph(const OneNodeGraph&) = delete;
  OneNodeGraph& operator=(const OneNodeGraph&) = delete;
  NodeView view() const { return {graph_, 0}; }

 private:
  uint32_t add(const TensorView& tensor, uint32_t dtype) {
    bp_tensor record = tensor.record();
    record.shape_at = static_cast<uint32_t>(i64_.size());
    i64_.insert(i64_.end(), tensor.shape().begin(), tensor.shape().end());
    record.stride_at = static_cast<uint32_t>(i64_.size());
    i64_.insert(i64_.end(), tensor.strides().begin(), tensor.strides().end());
    record.view_of = record.name_at = BP_NONE;
    if (dtype != Staging::kAsIs) {
      record.dtype = dtype;
      auto stride = static_cast<int64_t>(element_bytes(dtype));
      for (uint32_t axis = record.rank; axis-- > 0;) {
        i64_[record.stride_at + axis] = stride;
        stride *= tensor.shape()[axis];
      }
    }
    tensors_.push_back(record);
    return static_cast<uint32_t>(tensors_.size() - 1);
  }

  void add(const NodeView& node, bp_attr attr) {
    const bp_graph& from = node.graph();
    const auto move = [&attr](auto& pool, const auto* source) {
      const auto* first = source + attr.at;
      attr.at = static_cast<uint32_t>(pool.size());
      pool.insert(pool.end(), first, first + attr.count);
    };
    if (attr.type == BP_ATTR_TYPE_I64S) move(i64_, from.i64);
    if (attr.type == BP_ATTR_TYPE_F64S) move(f64_, from.f64);
    if (attr.type == BP_ATTR_TYPE_TEXT) move(text_, from.text);
    attrs_.push_back(attr);
  }

  void fill() {
    graph_.head = {BP_KIND_GRAPH, sizeof graph_, nullptr};
    graph_.tensor_count = static_cast<uint32_t>(tensors_.size());
    graph_.tensor_stride = sizeof(bp_tensor);
    graph_.node_count = 1;
    graph_.node_stride = sizeof(bp_node);
    graph_.attr_count = static_cast<uint32_t>(attrs_.size());
    graph_.attr_stride = sizeof(bp_attr);
    graph_.tensors = tensors_.data();
    graph_.nodes = &node_;
    graph_.attrs = attrs_.data();
    graph_.i64 = i64_.data();
    graph_.i64_count = i64_.size();
    graph_.u32 = u32_.data();
    graph_.u32_count = u32_.size();
    graph_.f64 = f64_.data();
    graph_.f64_count = f64_.size();
    graph_.text = text_.data();
    graph_.text_bytes = text_.size();
  }

  std::vector<bp_tensor> tensors_;
  bp_node node_{};
  std::vector<bp_attr> attrs_;
  std::vector<int64_t> i64_;
  std::vector<uint32_t> u32_;
  std::vector<double> f64_;
  std::vector<char> text_;
  bp_graph graph_{};
};

// One operand on its way into scratch or out of it, a chunk at a time.
struct Passage {
  uint32_t operand = 0;
  size_t at = 0;  // in scratch
  ChunkReader from;
  ConvertFn narrow = nullptr;  // from the source's compute type to the target's elements
  Walk to;
  uint32_t less = UINT32_MAX;
  ChunkReader less_from;  // i64 in its compute type

  // REQUIRES: `subtracted` is null unless `less` names an input.
  void copy(const std::byte* source, const std::byte* subtracted, std::byte* target, Range range) const {
    alignas(64) std::byte wide[kChunk * 8];
    alignas(64) std::byte zeros[kChunk * 8];
    alignas(64) std::byte narrow_chunk[kChunk * 8];
    alignas(64) int64_t difference[kChunk];
    for (int64_t begin = range.begin; begin < range.end; begin += kChunk) {
      const int64_t count = std::min(kChunk, range.end - begin);
      const void* values = from.read(source, begin, count, wide);
      if (subtracted != nullptr) {
        const auto *x = static_cast<const int64_t*>(values),
                   *zero = static_cast<const int64_t*>(less_from.read(subtracted, begin, count, zeros));
        for (int64_t i = 0; i < count; ++i) difference[i] = x[i] - zero[i];
        values = difference;
      }
      narrow(values, narrow_chunk, count);
      to.scatter(narrow_chunk, begin, count, target);
    }
  }
};

Walk dense_walk(const TensorView& tensor, uint32_t dtype) {
  const int64_t count = tensor.elements(), element = static_cast<int64_t>(element_bytes(dtype));
  return Walk({&count, 1}, {&element, 1}, element_bytes(dtype));
}

class StagedKernel final : public Kernel {
 public:
  StagedKernel(const NodeView& node, const Staging& staging, std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)), input_count_(static_cast<uint32_t>(staging.inputs.size())) {
    output_count_ = node.output_count();
    for (uint32_t i = 0; i < input_count_; ++i)
      if (node.has_input(i) && staging.inputs[i].dtype != Staging::kAsIs) add_input(node, i, staging.inputs[i]);
    for (uint32_t i = 0; i < output_count_; ++i)
      if (node.has_output(i) && staging.outputs[i] != Staging::kAsIs) add_output(node.output(i), i, staging.outputs[i]);
  }
  uint32_t phases() const override { return kernel_->phases() + 2; }
  size_t scratch_bytes(uint32_t workers) const override { return staged_ + kernel_->scratch_bytes(workers); }
  uint32_t max_workers() const override { return kernel_->max_workers(); }

  void run(const RunArgs& args) const noexcept override {
    if (args.phase == 0) return stage_inputs(args);
    if (args.phase > kernel_->phases()) return give_outputs(args);
    std::array<std::byte*, kMaxStaged> inputs{}, outputs{};
    for (uint32_t i = 0; i < input_count_; ++i) inputs[i] = args.inputs[i];
    for (uint32_t i = 0; i < output_count_; ++i) outputs[i] = args.outputs[i];
    for (const Passage& passage : inputs_) inputs[passage.operand] = args.scratch + passage.at;
    for (const Passage& passage : outputs_) outputs[passage.operand] = args.scratch + passage.at;
    RunArgs inner = args;
    inner.inputs = inputs.data();
    inner.outputs = outputs.data();
    inner.scratch = args.scratch + staged_;
    --inner.phase;
    kernel_->run(inner);
  }

 private:
  size_t reserve(const TensorView& tensor, uint32_t dtype) {
    const size_t at = staged_;
    staged_ += aligned(static_cast<size_t>(tensor.elements()) * element_bytes(dtype));
    return at;
  }

  void add_input(const NodeView& node, uint32_t i, const Staging::Input& input) {
    const TensorView x = node.input(i);
    Passage passage{i,
                    reserve(x, input.dtype),
                    ChunkReader(x),
                    narrow_function(compute_of(x.dtype()), input.dtype),
                    dense_walk(x, input.dtype),
                    UINT32_MAX,
                    {}};
    if (input.less != UINT32_MAX && node.has_input(input.less)) {
      passage.less = input.less;
      passage.less_from = ChunkReader(node.input(input.less), x.shape());
    }
    inputs_.push_back(std::move(passage));
  }

  void add_output(const TensorView& y, uint32_t i, uint32_t dtype) {
    outputs_.push_back({i,
                        reserve(y, dtype),
                        ChunkReader(dtype, dense_walk(y, dtype)),
                        narrow_function(compute_of(dtype), y.dtype()),
                        Walk(y),
                        UINT32_MAX,
                        {}});
  }

  void stage_inputs(const RunArgs& args) const {
    for (const Passage& p : inputs_)
      p.copy(args.inputs[p.operand], p.less != UINT32_MAX ? args.inputs[p.less] : nullptr, args.scratch + p.at,
             share(p.to.count(), kChunk, args.worker, args.workers));
  }

  void give_outputs(const RunArgs& args) const {
    for (const Passage& p : outputs_)
      p.copy(args.scratch + p.at, nullptr, args.outputs[p.operand],
             share(p.to.count(), kChunk, args.worker, args.workers));
  }

  std::unique_ptr<Kernel> kernel_;
  uint32_t input_count_, output_count_;
  std::vector<Passage> inputs_, outputs_;
  size_t staged_ = 0;
};

}  // namespace

Prepared prepare_staged(const NodeView& node, const Staging& staging, PrepareFn prepare) {
  require(staging.inputs.size() <= kMaxStaged && node.output_count() <= kMaxStaged &&
              staging.outputs.size() >= node.output_count(),
          "more operands than can be staged");
  const OneNodeGraph graph(node, staging);
  Prepared prepared = prepare(graph.view());
  if (prepared.kernel == nullptr) return prepared;
  return {std::make_unique<StagedKernel>(node, staging, std::move(prepared.kernel)), {}, 0};
}

uint32_t widened_type(uint32_t op, uint32_t dtype) {
  const bool product = op == BP_OP_MATMUL || op == BP_OP_GEMM;
  const auto type_for = [&](uint32_t in_product, uint32_t in_pool) {
    return product ? in_product : op == BP_OP_MAX_POOL ? in_pool : Staging::kAsIs;
  };
  switch (dtype) {
    case BP_TYPE_F16:
    case BP_TYPE_BF16:
      return BP_TYPE_F32;
    case BP_TYPE_I8:
    case BP_TYPE_I16:
      return type_for(BP_TYPE_I32, BP_TYPE_F32);
    case BP_TYPE_U8:
    case BP_TYPE_U16:
      return type_for(BP_TYPE_U32, BP_TYPE_F32);
    case BP_TYPE_I32:
    case BP_TYPE_U32:
      return type_for(Staging::kAsIs, BP_TYPE_F64);
    default:
      return Staging::kAsIs;
  }
}

Prepared prepare_widened(const NodeView& node, PrepareFn prepare) {
  const uint32_t narrow = node.has_input(0) ? node.input(0).dtype() : Staging::kAsIs;
  const uint32_t wide = widened_type(node.op(), narrow);
  if (wide == Staging::kAsIs) return prepare(node);
  const auto staged = [&](uint32_t dtype) { return dtype == narrow ? wide : Staging::kAsIs; };
  Staging staging{node.op(), {}, {}};
  for (uint32_t i = 0; i < node.input_count(); ++i)
    staging.inputs.push_back({node.has_input(i) ? staged(node.input(i).dtype()) : Staging::kAsIs, UINT32_MAX});
  for (uint32_t i = 0; i < node.output_count(); ++i)
    staging.outputs.push_back(node.has_output(i) ? staged(node.output(i).dtype()) : Staging::kAsIs);
  return prepare_staged(node, staging, prepare);
}

}  // namespace backplane_cpu
