#include "scheduler/execution/compiled_split.hpp"

#include "backplane/base/text.hpp"
#include "graph/structural_equality.hpp"

namespace backplane {

Result<CompiledSplit> CompiledSplit::make(const Plan& plan, const Split& split, Device& device, CompiledSplit* donor) {
  CompiledSplit compiled{Subgraph(*plan.graph, plan.nodes(split))};
  if (!device.has(BP_CAP_PROGRAMS)) return compiled;
  if (donor != nullptr && donor->program_ && &donor->program_.device() == &device &&
      same_topology(donor->graph_.abi(), compiled.graph_.abi()) && donor->program_.update(compiled.graph_.abi()).ok()) {
    compiled.program_ = std::move(donor->program_);
    return compiled;
  }
  BP_TRY_ASSIGN(compiled.program_, device.compile(compiled.graph_.abi()));
  return compiled;
}

Status CompiledSplit::bind(const Plan& plan, const Split& split, Device& device, const BoundMemory& memory) {
  const Graph& graph = *plan.graph;
  bindings_.clear();
  for (uint32_t slot = 0; slot < memory.depth(); ++slot)
    for (uint32_t local = 0; local < graph_.tensors().size(); ++local) {
      const TensorId tensor = graph_.tensors()[local];
      if (graph.is_view(tensor)) continue;
      const Residence* place = plan.residence(graph.storage_of(tensor), split.device);
      if (place == nullptr) return internal_error(cat(graph.tensor_text(tensor), " has no place on ", device.name()));
      const Spot spot = memory.spot(*place, slot);
      BP_TRY_ASSIGN(bp_buffer* const handle, spot.buffer->handle_on(device));
      bindings_.push_back({local, 0, handle, spot.offset});
    }
  per_slot_ = bindings_.size() / memory.depth();
  for (const bp_binding& binding : bindings(0)) graph_.bind(binding.tensor, binding.buffer, binding.offset);
  bound_slot_ = 0;
  return {};
}

Status CompiledSplit::submit(Stream& stream, uint32_t slot, bp_run_id run) {
  if (program_) return stream.submit(program_, bindings(slot), run);
  if (slot != bound_slot_)
    for (const bp_binding& binding : bindings(slot)) graph_.bind(binding.tensor, binding.buffer, binding.offset);
  bound_slot_ = slot;
  return stream.submit(graph_.abi(), run);
}

}  // namespace backplane
