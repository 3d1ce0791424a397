// How many CPUs this process may use.
#pragma once

#include <cstdint>

namespace backplane {

// Counts the CPUs of the calling thread's affinity mask, capped by the CPU quota of its control group, rounded up;
// at least 1.
uint32_t usable_cpu_count();

}  // namespace backplane
