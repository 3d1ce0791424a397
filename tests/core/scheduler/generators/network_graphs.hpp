// Graphs with the structure of networks that people run, in small integers. See generated_graph.hpp.
#pragma once

#include <vector>

#include "generated_graph.hpp"

namespace backplane::testing {

// transformer (fused qkv views, cache states), moe, unet, densenet, cells, towers (interleaved), alternating (relu in
// every layer, for devices that deny it), chain, fan.
const std::vector<GraphFamily>& network_families();

}  // namespace backplane::testing
