#include "all_families.hpp"

#include "adversarial_graphs.hpp"
#include "network_graphs.hpp"
#include "random_graph.hpp"

namespace backplane::testing {

const std::vector<GraphFamily>& all_families() {
  static const std::vector<GraphFamily> families = [] {
    std::vector<GraphFamily> all{{"random", make_random_graph}, {"stateful", make_stateful_graph}};
    for (const auto* more : {&network_families(), &adversarial_families()})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }();
  return families;
}

}  // namespace backplane::testing
