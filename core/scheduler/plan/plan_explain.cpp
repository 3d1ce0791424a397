#include "backplane/base/text.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {

std::string Plan::explain(NodeId node) const {
  const Placement& placement = placements[node];
  return cat("on ", device_names[placement.device], " because of ", cause_name(placement.cause));
}

}  // namespace backplane
