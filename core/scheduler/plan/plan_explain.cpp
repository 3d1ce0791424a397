#include <cstdio>

#include "backplane/base/text.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {
namespace {

std::string tensor_text(const Graph& graph, TensorId id) {
  const std::string_view name = graph.tensor_name(id);
  return name.empty() ? cat("tensor ", id) : cat("'", name, "'");
}

std::string node_text(const Graph& graph, NodeId id) { return cat("node ", id, " (", op_name(graph.op(id)), ")"); }

std::string time_text(uint64_t ns) {
  char text[32];
  const auto value = static_cast<double>(ns);
  if (ns < 1000)
    std::snprintf(text, sizeof text, "%.0f ns", value);
  else if (ns < 1'000'000)
    std::snprintf(text, sizeof text, "%.1f us", value / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f ms", value / 1e6);
  return text;
}

bool writes(const Graph& graph, NodeId node, TensorId tensor) {
  for (const TensorId output : graph.node_outputs(node))
    if (output != kNone && graph.storage_of(output) == graph.storage_of(tensor)) return true;
  return false;
}

// What decided, to follow "on gpu0, ". The tensor or node that did may be unknown.
std::string reason(const Graph& graph, NodeId node, const Placement& placement) {
  const uint32_t by = placement.because;
  const bool known = by != kNone;
  switch (placement.cause) {
    case Cause::pin:
      return "where it is pinned";
    case Cause::location:
      return known
                 ? cat("where ", tensor_text(graph, by), " is, which it ", writes(graph, node, by) ? "writes" : "reads")
                 : "where what it writes is";
    case Cause::weight:
      return known ? cat("where its weight ", tensor_text(graph, by), " is") : "where its weight is";
    case Cause::offload:
      return cat("which prefers to run it although its weight ", known ? tensor_text(graph, by) + " " : "",
                 "is elsewhere");
    case Cause::expand_down:
      return cat("to stay with ", known ? node_text(graph, by) : "the nodes", " before it");
    case Cause::expand_up:
      return cat("to stay with ", known ? node_text(graph, by) : "the nodes", " after it");
    case Cause::most_inputs:
      return "which reads most of its input bytes in place";
    case Cause::upgrade:
      return "a device of higher priority that reads all of its inputs in place";
    case Cause::min_cut:
      return cat(known ? "beside " + node_text(graph, by) + ", " : "", "so that less crosses between devices");
    case Cause::cost:
      return cat(known ? "beside " + node_text(graph, by) + ", " : "", "so that all devices together take less time");
    case Cause::fallback:
      return "the first device that runs it";
  }
  return "for no reason that is known";
}

std::string alternative(const Plan& plan, const Placement& placement) {
  if (placement.runner_up == kNone) return "";
  const std::string& device = plan.device_names[placement.runner_up];
  const int64_t saved = placement.saved_ns;
  if (saved == 0) return cat("; on ", device, " it would cost the same");
  const uint64_t size = saved < 0 ? uint64_t{0} - static_cast<uint64_t>(saved) : static_cast<uint64_t>(saved);
  return cat("; on ", device, " it would cost ", time_text(size), saved < 0 ? " less" : " more");
}

}  // namespace

std::string Plan::transfer_text(const Task& task) const {
  std::string text;
  for (const PlannedCopy& copy : transfer(task))
    text += cat(text.empty() ? "" : ", ", graph->tensor_text(graph->storage(copy.storage).root));
  return text;
}

std::string Plan::explain(NodeId node) const {
  const Placement& placement = placements[node];
  return cat("on ", device_names[placement.device], ", ", reason(*graph, node, placement),
             placement.verdict == BP_VERDICT_SLOW ? ", slow as it is there" : "", alternative(*this, placement));
}

}  // namespace backplane
