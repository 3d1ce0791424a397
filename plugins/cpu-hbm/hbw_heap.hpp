// HbwHeap: memkind's heap of high-bandwidth memory; the one place that calls the library.
//
// The heap is the process', not ours: its policy can be set once, and it finds its nodes when it is first used. So the
// constructor compares what was asked for with what there is, and refuses what cannot be had; a program that wants
// another policy or other nodes starts anew.
// Thread safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "environment_overlay.hpp"
#include "node_set.hpp"
#include "policy.hpp"

namespace backplane_cpu_hbm {

class HbwHeap {
 public:
  // `nodes` as parse_nodes reads them; empty = those of MEMKIND_HBW_NODES, or those that memkind finds. Throws
  // BP_E_NO_HARDWARE with memkind's reason, BP_E_STATE if the process has another policy or other nodes already,
  // BP_E_INVALID_ARG.
  HbwHeap(Policy policy, const std::string& nodes);

  // Where its memory comes from; with Policy::preferred, first.
  const NodeSet& nodes() const { return nodes_; }

  // Null when memkind has none, with its reason, an errno number. `alignment` is a power of two of at least 8.
  std::byte* allocate(uint64_t bytes, uint64_t alignment, int& reason);
  void release(std::byte* block) noexcept;

 private:
  NodeSet try_page(Policy policy);

  std::optional<EnvironmentOverlay> overlay_;  // ended by the constructor
  NodeSet nodes_;
};

}  // namespace backplane_cpu_hbm
