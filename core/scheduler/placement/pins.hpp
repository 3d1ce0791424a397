// Pins: the nodes that the user put on a device. Thread safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backplane/base/status.hpp"
#include "scheduler/placement/placement.hpp"

namespace backplane {

// "node 3 'name' (add)" for messages.
std::string node_text(const Graph& graph, NodeId node);

// options.pins as (node, device), checked. Errors: invalid_argument for a node or device that there is not, and for a
// device that cannot run the node.
Result<std::vector<std::pair<NodeId, uint32_t>>> find_pins(const PlacementInput& input);

}  // namespace backplane
