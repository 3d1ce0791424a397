// What holds of every plan. The numbers are those of the invariants in the research report on schedulers.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

// Returns the first invariant that does not hold of a plan made for these devices with these options, or an empty text.
std::string check_plan_invariants(const Plan& plan, const std::vector<Device*>& devices, const PlanOptions& options);

}  // namespace backplane::testing
