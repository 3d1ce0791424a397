// Whether the waits of a plan put every two accesses to the same bytes in order, if one of them writes (invariant 21).
// Thread safety: pure functions.
#pragma once

#include <string>

#include "backplane/scheduler/plan.hpp"

namespace backplane::testing {

// Returns the first pair that is not in order, or an empty text. `runs`: so many in flight at once, of a plan that was
// made for that.
std::string check_happens_before(const Plan& plan, uint32_t runs = 1);

}  // namespace backplane::testing
