#include "src/system.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace backplane_cpu {
namespace {

// The number after `key` in a file of "key value" lines, or the file's only number if `key` is empty.
std::optional<uint64_t> read_number(const std::string& path, const std::string& key = "") {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    if (!key.empty() && (!(words >> word) || word != key)) continue;
    uint64_t value = 0;
    if (words >> value) return value;
    if (key.empty()) return std::nullopt;  // "max": no limit
  }
  return std::nullopt;
}

// One control group's limit and what it holds beyond reclaimable file pages.
void apply_limit(MemoryFigures& figures, std::optional<uint64_t> limit, std::optional<uint64_t> used,
                 std::optional<uint64_t> reclaimable) {
  if (!limit || *limit >= figures.total_bytes) return;
  const uint64_t held = used.value_or(0) - std::min(used.value_or(0), reclaimable.value_or(0));
  figures.total_bytes = *limit;
  figures.free_bytes = std::min(figures.free_bytes, *limit - std::min(*limit, held));
}

// The process's path in the unified (controller "") or the memory hierarchy of control groups.
std::string group_path(const std::string& root, bool unified) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool memory = ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (unified ? controllers.empty() : memory) return line.substr(second + 1);
  }
  return "/";
}

// Applies the limits of a group and of all groups above it.
void apply_groups(MemoryFigures& figures, const std::string& base, std::string path, bool unified) {
  const char* const limit = unified ? "/memory.max" : "/memory.limit_in_bytes";
  const char* const used = unified ? "/memory.current" : "/memory.usage_in_bytes";
  const char* const reclaimable = unified ? "inactive_file" : "total_inactive_file";
  while (true) {
    if (path == "/") path.clear();
    const std::string folder = base + path;
    apply_limit(figures, read_number(folder + limit), read_number(folder + used),
                read_number(folder + "/memory.stat", reclaimable));
    if (path.empty()) return;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

std::string processor_name(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

MemoryFigures read_memory(const std::string& root) {
  MemoryFigures figures;
  const std::string meminfo = root + "/proc/meminfo";
  figures.total_bytes = read_number(meminfo, "MemTotal:").value_or(0) * 1024;
  figures.free_bytes = read_number(meminfo, "MemAvailable:").value_or(0) * 1024;
  apply_groups(figures, root + "/sys/fs/cgroup", group_path(root, true), true);
  apply_groups(figures, root + "/sys/fs/cgroup/memory", group_path(root, false), false);
  figures.free_bytes = std::min(figures.free_bytes, figures.total_bytes);
  return figures;
}

}  // namespace backplane_cpu
