// A graph made from a seed, with the values of its inputs, and what a failing test prints of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backplane/graph/graph.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::testing {

struct GeneratedGraph {
  std::shared_ptr<const Graph> graph;
  std::map<std::string, HostTensor> inputs;
};

// One line per node: its operands with types, shapes and storages, views as such; then the outputs.
std::string graph_text(const Graph& graph);

// A family of graphs: equal seeds and sizes give equal graphs.
struct GraphFamily {
  const char* name;
  // About `size` nodes. A smaller size with the same seed gives a similar graph, which shrinking relies on.
  GeneratedGraph (*make)(uint64_t seed, int size);
};

}  // namespace backplane::testing
