// Branch and bound: looks for addresses within a capacity where the heuristics of the planner found none.
//
// After Moffitt, "MiniMalloc: a lightweight memory allocator for hardware-accelerated machine learning", ASPLOS 2023:
// blocks are placed by rising address, each as low as those before allow; a branch ends where what is still to be
// placed in a section cannot fit above what is there, or where another block would fit wholly below the next.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>

#include "scheduler/memory/arrangement.hpp"
#include "scheduler/memory/live_bytes.hpp"

namespace backplane {

// Tries blocks of equal address in the given order. Without a solution, or when the work is spent, the peak is
// UINT64_MAX.
Arrangement search_within(const LiveBytes& live, uint64_t capacity, std::span<const uint32_t> order, WorkBudget& work);

}  // namespace backplane
