// All families of generated graphs, the random ones first. Thread safety: pure functions.
#pragma once

#include <vector>

#include "generated_graph.hpp"

namespace backplane::testing {

const std::vector<GraphFamily>& all_families();

}  // namespace backplane::testing
