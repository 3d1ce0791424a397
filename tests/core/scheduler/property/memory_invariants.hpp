// What must be true of the memory of every plan, found out anew from its tasks: invariants 14 and 17.
// Thread safety: a pure function.
#pragma once

#include <string>
#include <vector>

#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

// Returns what is wrong, or "": storages that are in use at the same time have bytes of their own, except where a
// result takes over the memory of an operand in its last use, as its device allows.
std::string check_memory_invariants(const Plan& plan, const std::vector<Device*>& devices);

}  // namespace backplane::testing
