// Coarse to fine: the large blocks are arranged on their own, well, because they are few; the small ones then find room
// between them. Again and again, with ever smaller blocks among the large ones, each time from what was found before.
//
// Deterministic, in integers. Thread safety: a pure function but for `fit`.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/memory/first_fit.hpp"

namespace backplane {

struct OrderedArrangement {
  Arrangement arrangement;
  std::vector<uint32_t> order;  // in which first fit gives it
};

// `order` is one of all blocks, in which those that are not large yet are placed. Stops when the peak is `target` or
// the work is spent. Returns the best arrangement with a peak below `give_up`; without one, the peak is UINT64_MAX.
OrderedArrangement fit_coarse_to_fine(const LiveBytes& live, FirstFit& fit, const std::vector<uint32_t>& order,
                                      uint64_t target, uint64_t give_up, WorkBudget& work);

}  // namespace backplane
