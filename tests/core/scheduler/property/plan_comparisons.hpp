// What holds between plans of one graph: invariants 12, 22, 27, 36 and 37 of the research report on schedulers.
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

// Makes other plans for the graph of a plan, which was made for these devices with these options, and compares. Returns
// the first difference that must not be, or an empty text.
std::string compare_plans(const Plan& plan, const std::vector<Device*>& devices, const PlanOptions& options);

}  // namespace backplane::testing
