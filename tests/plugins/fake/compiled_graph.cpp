#include "compiled_graph.hpp"

#include <algorithm>
#include <cstring>

#include "device.hpp"

namespace fake {

using backplane::sdk::Error;
using backplane::sdk::TensorView;

CompiledGraph::CompiledGraph(const bp_graph& graph, uint32_t mix_op) : graph_(graph) {
  copy_pools(graph);
  for (uint32_t i = 0; i < graph_.node_count; ++i) {
    const NodeView node(graph_, i);
    const Kernel* kernel = find_kernel(node.op(), mix_op);
    const std::string why = kernel == nullptr ? "no kernel" : kernel->refuse(node);
    if (!why.empty())
      throw Error(BP_E_UNSUPPORTED,
                  "node " + std::to_string(i) + ", " + backplane::sdk::op_name(node.op()) + ": " + why);
    kernels_.push_back(kernel);
  }
}

void CompiledGraph::copy_pools(const bp_graph& graph) {
  for (uint32_t i = 0; i < graph.tensor_count; ++i) tensors_.push_back(*bp_tensor_at(&graph, i));
  for (uint32_t i = 0; i < graph.node_count; ++i) nodes_.push_back(*bp_node_at(&graph, i));
  for (uint32_t i = 0; i < graph.attr_count; ++i) attrs_.push_back(*bp_attr_at(&graph, i));
  i64_.assign(graph.i64, graph.i64 + graph.i64_count);
  u32_.assign(graph.u32, graph.u32 + graph.u32_count);
  f64_.assign(graph.f64, graph.f64 + graph.f64_count);
  text_.assign(graph.text, graph.text + graph.text_bytes);
  blob_.assign(graph.blob, graph.blob + graph.blob_bytes);
  graph_.head.next = nullptr;
  graph_.tensors = tensors_.data();
  graph_.tensor_stride = sizeof(bp_tensor);
  graph_.nodes = nodes_.data();
  graph_.node_stride = sizeof(bp_node);
  graph_.attrs = attrs_.data();
  graph_.attr_stride = sizeof(bp_attr);
  graph_.i64 = i64_.data();
  graph_.u32 = u32_.data();
  graph_.f64 = f64_.data();
  graph_.text = text_.data();
  graph_.blob = blob_.data();
}

Submission::Submission(std::shared_ptr<const CompiledGraph> graph, std::span<const bp_binding> bindings,
                       const Device& device, bp_run_id run)
    : graph_(std::move(graph)), device_(device), run_(run) {
  place_tensors(bindings);
  for (uint32_t node = 0; node < graph_->graph().node_count; ++node) resolve_node(node);
}

void Submission::place_tensors(std::span<const bp_binding> bindings) {
  const bp_graph& graph = graph_->graph();
  places_.resize(graph.tensor_count);
  const auto as_buffer = [](bp_buffer* handle) { return static_cast<Buffer*>(backplane::sdk::from_handle(handle)); };
  for (uint32_t i = 0; i < graph.tensor_count; ++i)
    if (const bp_tensor& tensor = *bp_tensor_at(&graph, i); tensor.buffer != nullptr)
      places_[i] = {as_buffer(tensor.buffer), tensor.offset};
  for (const bp_binding& binding : bindings) {
    if (binding.tensor >= graph.tensor_count || binding.reserved != 0)
      throw Error(BP_E_INVALID_ARG, "a binding names tensor " + std::to_string(binding.tensor) + ", which is missing");
    places_[binding.tensor] = {as_buffer(binding.buffer), binding.offset};
  }
  for (uint32_t i = 0; i < graph.tensor_count; ++i) {
    const bp_tensor& tensor = *bp_tensor_at(&graph, i);
    if (places_[i].buffer != nullptr || tensor.view_of == BP_NONE) continue;
    const Place& owner = places_[tensor.view_of];
    places_[i].buffer = owner.buffer;
    if (__builtin_add_overflow(owner.offset, tensor.offset, &places_[i].offset))
      throw Error(BP_E_INVALID_ARG, "tensor " + std::to_string(i) + " has an offset that overflows");
  }
}

// Bytes from the first to behind the last element of a tensor, 0 if it is empty. Throws on overflow.
static uint64_t span_bytes(const TensorView& tensor) {
  uint64_t span = element_bytes(tensor.dtype());
  for (uint32_t axis = 0; axis < tensor.rank(); ++axis) {
    const auto extent = static_cast<uint64_t>(tensor.shape()[axis]);
    if (extent == 0) return 0;
    uint64_t reach = 0;
    if (__builtin_mul_overflow(extent - 1, static_cast<uint64_t>(tensor.strides()[axis]), &reach) ||
        __builtin_add_overflow(span, reach, &span))
      throw Error(BP_E_INVALID_ARG, "tensor " + std::to_string(tensor.index()) + " has strides that overflow");
  }
  return span;
}

void Submission::resolve_node(uint32_t index) {
  const NodeView node(graph_->graph(), index);
  std::vector<Operand>& inputs = inputs_.emplace_back();
  std::vector<Operand>& outputs = outputs_.emplace_back();
  for (uint32_t i = 0; i < node.input_count(); ++i)
    inputs.push_back(node.has_input(i) ? resolve(index, node.input_index(i), false) : Operand{});
  for (uint32_t i = 0; i < node.output_count(); ++i)
    outputs.push_back(node.has_output(i) ? resolve(index, node.output_index(i), true) : Operand{});
  for (uint32_t k = 0; k < outputs.size(); ++k)
    for (uint32_t j = 0; j < inputs.size(); ++j)
      if (node.has_output(k) && node.has_input(j)) check_overlap(index, k, j);
}

// An output may be over an input of another tensor's memory only as the device has said.
void Submission::check_overlap(uint32_t index, uint32_t output, uint32_t input) const {
  const NodeView node(graph_->graph(), index);
  const auto owner = [this](const TensorView& tensor) {
    const uint32_t root = bp_tensor_at(&graph_->graph(), tensor.index())->view_of;
    return root == BP_NONE ? tensor.index() : root;
  };
  const TensorView written = node.output(output), read = node.input(input);
  if (owner(written) == owner(read)) return;
  const Operand &to = outputs_[index][output], &from = inputs_[index][input];
  const AccessRange write{to.data, span_bytes(written), true, index}, other{from.data, span_bytes(read), false, index};
  if (!write.conflicts_with(other)) return;
  const bool allowed = device_.options().in_place && graph_->kernel(index).elementwise && output == 0 && input < 8;
  const bool same =
      to.data == from.data && to.dtype == from.dtype && equal(to.shape, from.shape) && equal(to.strides, from.strides);
  if (!allowed || !same)
    throw Error(BP_E_INVALID_ARG, "node " + std::to_string(index) + " has output " + std::to_string(output) +
                                      " over its input " + std::to_string(input));
}

Operand Submission::resolve(uint32_t node, uint32_t index, bool written) {
  const TensorView tensor(graph_->graph(), index);
  const auto& [buffer, offset] = places_[index];
  const auto refuse = [&](const char* why) {
    throw Error(BP_E_INVALID_ARG, "tensor " + std::to_string(index) + " " + why);
  };
  const uint64_t span = span_bytes(tensor);
  if (buffer == nullptr) {
    if (span != 0) refuse("is not bound to a buffer");
    return {nullptr, tensor.dtype(), tensor.shape(), tensor.strides()};
  }
  if (&buffer->device() != &device_) refuse("lies in a buffer of another device");
  if (written && !buffer->writable()) refuse("is written, but its buffer may only be read");
  if (!tensor.is_view() && offset % device_.options().alignment != 0) refuse("has an offset that is not aligned");
  if (offset > buffer->size_bytes() || span > buffer->size_bytes() - offset) refuse("leaves its buffer");
  if (span != 0) accesses_.push_back({buffer->data() + offset, span, written, node});
  return {buffer->data() + offset, tensor.dtype(), tensor.shape(), tensor.strides()};
}

void Submission::overrun(const NodeView& node) const {
  const auto& [buffer, offset] = places_[node.output_index(0)];
  const uint64_t end = offset + span_bytes(node.output(0));
  std::memset(buffer->data() + end, 0, std::min<uint64_t>(4, buffer->size_bytes() - end));
}

void Submission::run(const std::function<bool()>& cancelled) const {
  for (uint32_t i = 0; i < graph_->graph().node_count; ++i) {
    if (cancelled()) throw Error(BP_E_CANCELLED, "the run was cancelled");
    graph_->kernel(i).run(NodeView(graph_->graph(), i), inputs_[i], outputs_[i]);
    if (device_.options().overrun.has(graph_->kernel(i).name)) overrun(NodeView(graph_->graph(), i));
  }
}

}  // namespace fake
