// MemoryLayout: which storages share which pools, and where each lives in its pool.
//
// Activations share an arena over time. Graph inputs and outputs have places of their own, beside each other, in a pool
// that exists once for each run in flight. States and constants are outside: they outlive plans.
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/plan/splitter.hpp"
#include "scheduler/plan/task_graph.hpp"

namespace backplane {

struct MemoryLayout {
  std::vector<Residence> residences;   // by storage, its home first
  std::vector<uint32_t> residence_at;  // as Plan::residence_at
  std::vector<Pool> pools;             // by device
};

// Errors: resource_exhausted naming a tensor larger than its device's largest buffer.
Result<MemoryLayout> lay_out_memory(const SplitInput& input, const std::vector<Device*>& devices,
                                    const SplitResult& cut, const TaskGraph& tasks);

}  // namespace backplane
