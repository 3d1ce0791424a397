// MemoryGuard: for debugging, tells which tensor's memory was left by whoever wrote it.
//
// For plans made with PlanOptions::separate_memory, where each tensor has a buffer of its own with red zones. All of
// them hold kPoison, which is a NaN in every floating type: results of memory that nobody wrote show.
// Thread safety: none; nothing runs meanwhile.
#pragma once

#include <string_view>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/execution/bound_memory.hpp"

namespace backplane {

class MemoryGuard {
 public:
  static constexpr uint8_t kPoison = 0xFF;

  // Both outlive it.
  MemoryGuard(const Plan& plan, const BoundMemory& memory);

  // Fills graph inputs and outputs, once, before the inputs are set.
  Status prepare() { return fill(PoolKind::ports); }
  // Fills what a run has not to find: all activations.
  Status begin_run() { return fill(PoolKind::arena); }
  // Errors: internal "session.red-zone", naming the tensor and the node that writes it.
  Status check() const;

 private:
  // What is fenced in: one tensor, or those that are copied together.
  struct Fenced {
    const Residence *first, *last;
  };

  Status fill(PoolKind kind);
  Status check_zone(const Residence& next_to, uint64_t begin, uint64_t end, std::string_view where) const;

  const Plan& plan_;
  const BoundMemory& memory_;
  std::vector<Fenced> fenced_;  // by buffer
};

}  // namespace backplane
