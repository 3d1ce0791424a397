// Splitter: cuts a placed node list where the device changes, and finds the copies between the pieces.
//
// A storage is copied once per device that cannot read it in place, and again only after it was written anew.
#pragma once

#include <vector>

#include "backplane/scheduler/plan.hpp"
#include "capability.hpp"

namespace backplane {

struct SplitResult {
  std::vector<Split> splits;
  std::vector<PlannedCopy> copies;
  std::vector<uint32_t> home;  // by storage: the device that owns its memory; kNone = a constant or unused
};

SplitResult split_graph(const Graph& graph, const Capability& capability, const std::vector<Placement>& placements);

}  // namespace backplane
