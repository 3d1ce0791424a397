#include "node_memory.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "../cpu/src/system.hpp"

namespace backplane_cpu_hbm {

using backplane_cpu::MemoryFigures;

namespace {

// Adds a node's file of lines like "Node 0 MemTotal:  1024 kB".
void add_node(const std::string& path, MemoryFigures& figures) {
  std::ifstream file(path);
  std::string line, word, number, key;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    uint64_t kibibytes = 0;
    if (!(words >> word >> number >> key >> kibibytes)) continue;
    if (key == "MemTotal:") figures.total_bytes += kibibytes * 1024;
    if (key == "MemFree:" || key == "Inactive(file):") figures.free_bytes += kibibytes * 1024;
  }
}

}  // namespace

MemoryFigures read_node_memory(const NodeSet& nodes, const std::string& root) {
  MemoryFigures figures;
  for (const uint32_t node : nodes)
    add_node(root + "/sys/devices/system/node/node" + std::to_string(node) + "/meminfo", figures);
  const MemoryFigures allowed = backplane_cpu::read_memory(root);
  if (allowed.total_bytes != 0) {
    figures.total_bytes = std::min(figures.total_bytes, allowed.total_bytes);
    figures.free_bytes = std::min(figures.free_bytes, allowed.free_bytes);
  }
  figures.free_bytes = std::min(figures.free_bytes, figures.total_bytes);
  return figures;
}

}  // namespace backplane_cpu_hbm
