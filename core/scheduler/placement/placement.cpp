#include "scheduler/placement/placement.hpp"

#include <numeric>

#include "scheduler/placement/greedy.hpp"

namespace backplane {

Result<PlacementResult> place(const PlacementInput& input) {
  PlacementResult result;
  BP_TRY_ASSIGN(result.placements, place_greedy(input));
  result.order.resize(input.graph.node_count());
  std::iota(result.order.begin(), result.order.end(), 0u);
  return result;
}

}  // namespace backplane
