// Runs of a session against the oracle. Each returns the first fault, or an empty text. Thread safety: none.
#pragma once

#include <string>

#include "oracle.hpp"

namespace backplane::testing {

// Runs once for each of the results wanted, one after another.
std::string check_runs_in_turn(Session& session, const GeneratedGraph& generated, const std::vector<Outputs>& wanted);
// Submits runs with the inputs of `first` and of `second` in turn, as many at once as the session allows, and
// overwrites the inputs as soon as a run is submitted (invariant 38). REQUIRES: one graph, without states.
std::string check_pipelined_runs(Session& session, const GeneratedGraph& first, const Outputs& wanted_first,
                                 const GeneratedGraph& second, const Outputs& wanted_second);

}  // namespace backplane::testing
