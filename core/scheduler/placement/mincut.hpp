// Min-cut: moves nodes between devices so that copies (and, where nodes cost anything, nodes) cost less.
//
// Swaps of two labels by minimum cuts (Boykov, Veksler and Zabih, "Fast approximate energy minimization via graph
// cuts", PAMI 2001), with a directed hyperedge for each storage: optimal for two devices. Deterministic, and its work
// is counted and limited. Thread safety: none; the Communication keeps figures.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/placement/communication.hpp"

namespace backplane {

// Where nodes may go. A node that has no choice is not moved.
class Choices {
 public:
  // From what greedy decided: pins, locations and weights hold; a light node may go to any device that runs it well, a
  // heavy one only up in priority -- or anywhere, where costs of nodes are known.
  Choices(const PlacementInput& input, const std::vector<Placement>& greedy, bool nodes_cost);

  bool is_free(NodeId node) const { return limit_[node] != 0; }
  bool allows(NodeId node, uint32_t device) const {
    return device == start_[node] || (device < limit_[node] && capability_.runs(node, device) &&
                                      capability_.verdict(node, device) != BP_VERDICT_SLOW);
  }
  uint32_t free_count() const { return free_count_; }

 private:
  const Capability& capability_;
  std::vector<uint32_t> start_;  // by node: greedy's device
  std::vector<uint32_t> limit_;  // by node: it may go to devices below this
  uint32_t free_count_ = 0;
};

// Moves nodes among `devices` (by node); never to a dearer placement. Takes what it does from `work`, counted in arcs
// and readers looked at, and keeps what it has when that is used up.
void improve_by_cuts(Communication& communication, const Choices& choices, std::vector<uint32_t>& devices,
                     int64_t& work);

}  // namespace backplane
