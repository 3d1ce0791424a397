#include "oracle.hpp"

#include <cstring>

#include "backplane/base/text.hpp"
#include "backplane/reference/reference.hpp"

namespace backplane::testing {
bool has_states(const Graph& graph) {
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
    if ((graph.storage(storage).flags & BP_TENSOR_STATE) != 0) return true;
  return false;
}

std::vector<Outputs> Oracle::two_runs(const GeneratedGraph& generated, std::string& fault) {
  const Graph& graph = *generated.graph;
  std::vector<Outputs> runs(2, reference::run(graph, generated.inputs).value());
  if (!has_states(graph)) return runs;
  const auto session = Session::prepare(*runtime_, generated.graph).value();
  fault = set_inputs(*session, generated).to_string();
  for (int run = 0; run < 2; ++run) {
    if (const Status status = session->run(); !status.ok()) fault = "one device: " + status.to_string();
    if (run == 0) fault = compare_outputs(*session, runs[0]);
    if (!fault.empty()) return runs;
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) runs[1][i] = session->output(graph.outputs()[i].name).value();
  return runs;
}

Status set_inputs(Session& session, const GeneratedGraph& generated) {
  for (const auto& [name, value] : generated.inputs) BP_TRY(session.set_input(name, value));
  return {};
}

std::string compare_outputs(const Session& session, const Outputs& wanted) {
  const std::vector<Graph::Port>& ports = session.graph().outputs();
  for (size_t i = 0; i < ports.size(); ++i) {
    const Result<HostTensor> found = session.output(ports[i].name);
    if (!found.ok()) return cat("output ", ports[i].name, ": ", found.status().to_string());
    const std::span<const std::byte> a = found->bytes(), b = wanted[i].bytes();
    if (a.size() != b.size() || found->shape() != wanted[i].shape())
      return cat("output ", ports[i].name, ": another shape");
    for (size_t byte = 0; byte < a.size(); ++byte)
      if (a[byte] != b[byte])
        return cat("output ", ports[i].name, " differs in element ", byte / 4, " of ", a.size() / 4);
  }
  return "";
}

}  // namespace backplane::testing
