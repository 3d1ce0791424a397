#include "cpu_count.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// Machines with more CPUs than cpu_set_t has bits need a larger mask: double it until the kernel is content.
uint32_t affinity_count() {
  for (size_t bits = 1024; bits <= size_t{1} << 20; bits *= 2) {
    const std::unique_ptr<cpu_set_t, decltype(&std::free)> mask(static_cast<cpu_set_t*>(std::calloc(1, bits / 8)),
                                                                &std::free);
    if (mask && sched_getaffinity(0, bits / 8, mask.get()) == 0)
      return static_cast<uint32_t>(CPU_COUNT_S(bits / 8, mask.get()));
  }
  return std::thread::hardware_concurrency();
}

// The quota of one control group in whole CPUs, or 0 if it has none. cpu.max holds "quota period" or "max period".
uint32_t group_quota(const std::string& group) {
  std::ifstream file(cat("/sys/fs/cgroup", group, "/cpu.max"));
  uint64_t quota = 0, period = 0;
  if (!(file >> quota >> period) || period == 0) return 0;
  return static_cast<uint32_t>(std::clamp<uint64_t>((quota + period - 1) / period, 1, UINT32_MAX));
}

// The path of this process's group in the unified hierarchy: the line "0::/path".
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  return "/";
}

}  // namespace

uint32_t usable_cpu_count() {
  uint32_t count = std::max(affinity_count(), 1u);
  std::string group = own_group();
  for (;;) {  // a quota binds all groups below it
    if (group == "/") group.clear();
    if (const uint32_t quota = group_quota(group)) count = std::min(count, quota);
    if (group.empty()) return count;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

}  // namespace backplane
