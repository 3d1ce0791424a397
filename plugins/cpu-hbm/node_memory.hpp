// What memory NUMA nodes have. Thread safety: pure functions that read the sys, proc and cgroup file systems; `root`
// is prefixed to their paths, for tests.
#pragma once

#include <string>

#include "../cpu/src/memory.hpp"
#include "node_set.hpp"

namespace backplane_cpu_hbm {

// Of all the nodes together, within what this process may have at all. A node's file pages that nobody uses now count
// as free: the system gives them up. A node that is not there has nothing.
backplane_cpu::MemoryFigures read_node_memory(const NodeSet& nodes, const std::string& root = "");

}  // namespace backplane_cpu_hbm
