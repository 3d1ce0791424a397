// Facts about the machine: processor name and memory. Thread safety: pure functions that read the proc and cgroup
// file systems; `root` is prefixed to their paths, for tests.
#pragma once

#include <string>

#include "src/memory.hpp"

namespace backplane_cpu {

// The processor's brand string, or "CPU" if the system does not tell.
std::string processor_name(const std::string& root = "");

// Memory that this process may use: the machine's, or the tightest limit of the control groups that it is in. Memory
// that the system can reclaim counts as free.
MemoryFigures read_memory(const std::string& root = "");

}  // namespace backplane_cpu
