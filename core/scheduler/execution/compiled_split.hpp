// CompiledSplit: one split as its device takes it: a program with bindings, or a bound graph.
//
// Thread safety: built by one thread; then used by the lane of its device.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/subgraph.hpp"
#include "backplane/runtime/device.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/execution/bound_memory.hpp"

namespace backplane {

class CompiledSplit {
 public:
  // Compiles, or adapts the program of `donor` (may be null) if that has the same nodes with other shapes; `donor` is
  // then without one. Errors: what the device reports; unimplemented if it refuses the split after all.
  static Result<CompiledSplit> make(const Plan& plan, const Split& split, Device& device, CompiledSplit* donor);

  // Binds the tensors for every slot of `memory`.
  Status bind(const Plan& plan, const Split& split, Device& device, const BoundMemory& memory);
  // Queues the split for a run of `slot`. Nothing is allocated.
  Status submit(Stream& stream, uint32_t slot, bp_run_id run);

  // Its tensors, by local index, and where they are in a slot; for those who look at the accesses of a split.
  const Subgraph& graph() const { return graph_; }
  std::span<const bp_binding> bindings(uint32_t slot) const {
    return std::span(bindings_).subspan(slot * per_slot_, per_slot_);
  }

 private:
  explicit CompiledSplit(Subgraph graph) : graph_(std::move(graph)) {}

  Subgraph graph_;
  Program program_;                   // empty: the bound graph is submitted
  std::vector<bp_binding> bindings_;  // of slot 0, of slot 1, ...
  size_t per_slot_ = 0;
  uint32_t bound_slot_ = 0;  // which the graph is bound to, if there is no program
};

}  // namespace backplane
