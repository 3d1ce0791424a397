// Facts about the machine: processor name and memory. Thread safety: pure functions that read the proc and cgroup
// file systems; `root` is prefixed to their paths, for tests.
#pragma once

#include <cstdint>
#include <string>

namespace backplane_cpu {

// The processor's brand string, or "CPU" if the system does not tell.
std::string processor_name(const std::string& root = "");

struct MemoryFigures {
  uint64_t total_bytes = 0;  // 0 = unknown
  uint64_t free_bytes = 0;   // at most total_bytes
};
// Memory that this process may use: the machine's, or the tightest limit of the control groups that it is in. Memory
// that the system can reclaim counts as free.
MemoryFigures read_memory(const std::string& root = "");

}  // namespace backplane_cpu
