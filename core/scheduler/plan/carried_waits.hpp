// Carried waits: what a run must wait for of the run before it, when several are in flight. Thread safety: pure
// functions.
#pragma once

#include "backplane/scheduler/plan.hpp"

namespace backplane {

// Fills in carried_waits of a plan that is complete otherwise.
void add_carried_waits(Plan& plan);

}  // namespace backplane
