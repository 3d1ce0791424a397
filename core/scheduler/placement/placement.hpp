// Placement: which device runs each node, why, and in which order the nodes run.
//
// `greedy` is the contract that users of ggml's scheduler know, on storages instead of tensors: pins, located storages
// and weights decide; the rest follows its neighbours in the node list; what is left goes to the device that reads most
// of its inputs. `mincomm` and `cost` improve on it. Deterministic: integers only, ties go to the device of higher
// priority. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/plan/capability.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {

struct PlacementResult {
  std::vector<Placement> placements;  // by node
  std::vector<NodeId> order;          // a topological order that also keeps the order of conflicting accesses
  SplitResult cut;                    // what these two come to
};

struct PlacementInput {
  const Graph& graph;
  const Capability& capability;
  const std::vector<Device*>& devices;
  const PlanOptions& options;
  // By storage: the device that options.locations and weights_device put it on, or kNone.
  const std::vector<uint32_t>& located;
};

// Errors: invalid_argument for a pin to a missing node or device, or to a device that cannot run the node;
// unimplemented naming the nodes that no device runs and each device's reason.
Result<PlacementResult> place(const PlacementInput& input);

}  // namespace backplane
