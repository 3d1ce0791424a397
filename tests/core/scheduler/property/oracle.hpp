// What runs of a graph must give. Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "backplane/scheduler/session.hpp"
#include "fake_runtime.hpp"
#include "generated_graph.hpp"

namespace backplane::testing {

// All outputs of one run.
using Outputs = std::vector<HostTensor>;

class Oracle {
 public:
  Oracle() : runtime_(R"({"devices": 1})") {}
  // The outputs of the first two runs, which differ where there are states. The reference computes the first; the
  // second is that of a session on one fake device, whose first run must agree, else `fault` says so.
  std::vector<Outputs> two_runs(const GeneratedGraph& generated, std::string& fault);

 private:
  FakeRuntime runtime_;
};

// Whether a second run gives other results than the first, and a run that failed may have changed what comes.
bool has_states(const Graph& graph);
Status set_inputs(Session& session, const GeneratedGraph& generated);
// Compares the outputs of the last run with those wanted. Returns the first difference, or an empty text.
std::string compare_outputs(const Session& session, const Outputs& wanted);

}  // namespace backplane::testing
