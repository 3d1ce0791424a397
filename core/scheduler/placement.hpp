// Placement: which device runs each node, and why.
//
// Mode `greedy` is the contract that users of ggml's scheduler know, on storages instead of tensors: pins, located
// storages and weights decide; the rest follows its neighbours in the node list; what is left goes to the device that
// reads most of its inputs. Deterministic: integers only, ties go to the device of higher priority.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "capability.hpp"

namespace backplane {

// Errors: invalid_argument for a pin to a missing node or device, or to a device that cannot run the node;
// unimplemented naming the nodes that no device runs and each device's reason.
Result<std::vector<Placement>> place_greedy(const Graph& graph, const Capability& capability,
                                            const std::vector<Device*>& devices, const PlanOptions& options);

}  // namespace backplane
