// Random integer graphs: any wrong byte, order or place changes the result exactly.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backplane/graph/graph.hpp"
#include "backplane/graph/host_tensor.hpp"

namespace backplane::testing {

struct RandomGraph {
  std::shared_ptr<const Graph> graph;
  std::map<std::string, HostTensor> inputs;
};

// About `node_count` i32 nodes over a few inputs and constants, with views, broadcasts, zero sizes, unused nodes,
// outputs that are inputs, views or constants. Equal seeds give equal graphs.
RandomGraph make_random_graph(uint64_t seed, int node_count);

}  // namespace backplane::testing
