// Random integer graphs: any wrong byte, order or place changes the result exactly.
#pragma once

#include "generated_graph.hpp"

namespace backplane::testing {

using RandomGraph = GeneratedGraph;

// About `node_count` i32 nodes. The seed decides the shape of the graph too: how far back nodes read (a window, with
// some long edges), fan-in 1 to 9, sizes (log-uniform, at most 16 KiB), which classes of ops; and whether there are
// weights of various sizes, and zero sizes. Operands are contiguous, strided, transposed, nested and broadcast views,
// or twice the same tensor; outputs are views, duplicates, inputs and constants. A graph of fewer nodes with the same
// seed begins alike.
RandomGraph make_random_graph(uint64_t seed, int node_count);
// The same with states, which are written whole and through views, and read before and after.
RandomGraph make_stateful_graph(uint64_t seed, int node_count);

}  // namespace backplane::testing
