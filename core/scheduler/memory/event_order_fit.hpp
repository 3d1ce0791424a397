// Event-order best fit: memory given and taken back in the order of time, as an allocator would that cannot look ahead.
//
// Each block takes the smallest gap that holds it, and gaps beside each other become one. Two balanced trees hold them,
// so that any number of gaps is found in logarithmic time. Thread safety: a pure function.
#pragma once

#include "scheduler/memory/arrangement.hpp"
#include "scheduler/memory/live_bytes.hpp"

namespace backplane {

// Gives up, with peak = UINT64_MAX, as soon as the peak is above `limit`.
Arrangement fit_in_event_order(const LiveBytes& live, uint64_t limit, WorkBudget& work);

}  // namespace backplane
