// Squeaky wheel optimization: what ended up too high is placed earlier the next time.
//
// After Joslin and Clements, "Squeaky wheel optimization", Journal of Artificial Intelligence Research 10 (1999).
// Deterministic, in integers. Thread safety: a pure function but for `fit`.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/memory/first_fit.hpp"

namespace backplane {

// Starts from an order of all blocks and places them again and again, until the peak is `target`, the work is spent or
// nothing changes any more. Returns the best arrangement with a peak below `give_up`; without one, the peak is
// UINT64_MAX.
Arrangement repair_order(const LiveBytes& live, FirstFit& fit, std::vector<uint32_t> order, uint64_t target,
                         uint64_t give_up, WorkBudget& work);

}  // namespace backplane
