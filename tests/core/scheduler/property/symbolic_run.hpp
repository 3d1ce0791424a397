// A run of a plan with names instead of numbers: each word of memory holds which node wrote it. Every operand must hold
// what it holds when the nodes run one after another, each tensor with memory of its own. That is the whole of a plan's
// correctness but for timing: order, copies, write-backs, reuse of memory, places. Thread safety: pure functions.
#pragma once

#include <string>

#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

// Returns the first thing that is wrong, or an empty text.
std::string check_symbolic_run(const Plan& plan);

}  // namespace backplane::testing
