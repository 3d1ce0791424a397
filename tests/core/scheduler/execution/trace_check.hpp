// A check of exported traces against the trace-event format and against the plan that they are of.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

// What is wrong with a trace of `runs` whole runs: missing keys, arrows without a partner or against time, arrows from
// or to nowhere, slices of one lane that overlap, processes without a name, live bytes beyond a pool's memory, copied
// bytes other than the plan's. Empty = nothing.
std::vector<std::string> trace_faults(const Json& trace, const Plan& plan, uint64_t runs);

}  // namespace backplane::testing
