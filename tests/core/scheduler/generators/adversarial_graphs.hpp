// Graphs made to break planners: list orders, sizes and numbers of edges that come from nowhere else. See
// generated_graph.hpp.
#pragma once

#include <vector>

#include "generated_graph.hpp"

namespace backplane::testing {

// permuted (one DAG; the seed only chooses the order of its list), fibonacci (sizes that leave gaps), comb (holes
// between tensors that live on), many_inputs (`size` inputs in one node), deep (a chain of `size`).
const std::vector<GraphFamily>& adversarial_families();

}  // namespace backplane::testing
