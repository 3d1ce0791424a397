// Mode greedy, which the other modes start from. Thread safety: a pure function.
#pragma once

#include <vector>

#include "scheduler/placement/placement.hpp"

namespace backplane {

// As place, by node; the order is that of the list.
Result<std::vector<Placement>> place_greedy(const PlacementInput& input);

}  // namespace backplane
