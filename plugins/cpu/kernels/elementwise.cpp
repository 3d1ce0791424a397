#include "kernels/elementwise.hpp"

#include <cstring>

#include "kernels/checks.hpp"

namespace backplane_cpu {

ChunkReader::ChunkReader(uint32_t dtype, const Walk& walk)
    : walk_(walk), widen_(widen_function(dtype)), native_(is_native(dtype)) {
  if (widen_ == nullptr) refuse(std::string("type ") + backplane::sdk::type_name(dtype) + " has no arithmetic here");
}

ChunkReader::ChunkReader(const TensorView& tensor, std::span<const int64_t> shape)
    : ChunkReader(tensor.dtype(), Walk::broadcast(tensor, shape)) {}

const void* ChunkReader::read(const std::byte* base, int64_t begin, int64_t count, std::byte* stage) const {
  const int64_t element = static_cast<int64_t>(walk_.element());
  if (walk_.dense()) {
    const std::byte* from = base + begin * element;
    if (native_) return from;
    widen_(from, stage, count);
    return stage;
  }
  if (native_) {
    walk_.gather(base, begin, count, stage);
    return stage;
  }
  alignas(64) std::byte raw[kChunk * 4];  // only types of 8 bytes are wider, and they are native
  walk_.gather(base, begin, count, raw);
  widen_(raw, stage, count);
  return stage;
}

ElementwiseKernel::ElementwiseKernel(const NodeView& node, Compute result, ChunkFn function,
                                     std::array<double, 2> params)
    : output_(node.output(0)), function_(function), params_(params) {
  const TensorView output = node.output(0);
  const bool same = compute_of(output.dtype()) == result;
  narrow_ = same || result == Compute::kF64 ? narrow_function(result, output.dtype()) : nullptr;
  if (narrow_ == nullptr)
    refuse(std::string("output type ") + backplane::sdk::type_name(output.dtype()) +
           " does not follow from the inputs");
  output_native_ = same && is_native(output.dtype());
  output_in_place_ = output_native_ && output_.dense();
  for (uint32_t i = 0; i < node.input_count(); ++i)
    inputs_.push_back(node.has_input(i) ? ChunkReader(node.input(i), output.shape()) : ChunkReader());
}

uint32_t ElementwiseKernel::max_workers() const { return workers_for(output_.count()); }

void ElementwiseKernel::write(const void* result, std::byte* base, int64_t begin, int64_t count) const {
  std::byte* dense = base + begin * static_cast<int64_t>(output_.element());
  if (output_.dense()) return narrow_(result, dense, count);
  if (output_native_) return output_.scatter(static_cast<const std::byte*>(result), begin, count, base);
  alignas(64) std::byte raw[kChunk * 8];
  narrow_(result, raw, count);
  output_.scatter(raw, begin, count, base);
}

void ElementwiseKernel::run(const RunArgs& args) const noexcept {
  const Range range = share(output_.count(), kChunk * 8, args.worker, args.workers);
  if (range.begin >= range.end) return;
  alignas(64) std::byte stages[kMaxOperands + 1][kChunk * 8];
  Chunk chunk{{}, stages[kMaxOperands], 0, params_};
  std::byte* const base = args.outputs[0];
  for (size_t i = 0; i < inputs_.size(); ++i)  // the same value everywhere: one fill serves every chunk
    if (args.inputs[i] != nullptr && inputs_[i].walk().constant())
      chunk.in[i] = inputs_[i].read(args.inputs[i], 0, std::min(kChunk, output_.count()), stages[i]);
  for (int64_t at = range.begin; at < range.end; at += kChunk) {
    chunk.count = std::min(kChunk, range.end - at);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (args.inputs[i] != nullptr && !inputs_[i].walk().constant())
        chunk.in[i] = inputs_[i].read(args.inputs[i], at, chunk.count, stages[i]);
    if (output_in_place_) chunk.out = base + at * static_cast<int64_t>(output_.element());
    function_(chunk);
    if (!output_in_place_) write(chunk.out, base, at, chunk.count);
  }
}

}  // namespace backplane_cpu
