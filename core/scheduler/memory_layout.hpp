// MemoryLayout: which storages share which pools, and where each lives in its pool.
#pragma once

#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"
#include "splitter.hpp"

namespace backplane {

struct MemoryLayout {
  std::vector<Residence> residences;  // one per storage with a home, per copy target, and per constant and its readers
  std::vector<Pool> pools;            // one per device that has activations
};

// Errors: resource_exhausted naming a tensor larger than its device's largest buffer.
Result<MemoryLayout> lay_out_memory(const Graph& graph, const std::vector<Device*>& devices, const SplitResult& cut);

}  // namespace backplane
