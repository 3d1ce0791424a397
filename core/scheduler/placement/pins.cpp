#include "scheduler/placement/pins.hpp"

#include <charconv>
#include <unordered_map>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

using Names = std::unordered_map<std::string_view, NodeId>;

// The first node of each name.
Names node_names(const Graph& graph) {
  Names names;
  for (NodeId node = 0; node < graph.node_count(); ++node)
    if (const std::string_view name = graph.node_name(node); !name.empty()) names.try_emplace(name, node);
  return names;
}

Result<NodeId> find_node(const Graph& graph, const Names& names, const std::string& key) {
  if (const auto found = names.find(key); found != names.end()) return found->second;
  NodeId number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error == std::errc() && end == key.data() + key.size() && number < graph.node_count()) return number;
  std::vector<std::string> candidates;
  for (NodeId node = 0; node < graph.node_count(); ++node)
    if (const std::string_view name = graph.node_name(node); !name.empty()) candidates.emplace_back(name);
  return invalid_argument(
      cat("pin names node '", key, "', and the graph has no such node", did_you_mean(key, candidates)),
      "plan.pin-node");
}

Status check_device(const PlacementInput& input, NodeId node, uint32_t device) {
  if (device >= input.devices.size())
    return invalid_argument(
        cat("pin of ", node_text(input.graph, node), " names device ", device, " of ", input.devices.size()),
        "plan.pin-device");
  if (input.capability.runs(node, device)) return {};
  const std::string_view reason = input.capability.answer(node, device).reason;
  return invalid_argument(cat(node_text(input.graph, node), " is pinned to ", input.devices[device]->name(),
                              ", which cannot run it", reason.empty() ? "" : ": ", reason),
                          "plan.pin-unsupported");
}

}  // namespace

std::string node_text(const Graph& graph, NodeId node) {
  const std::string_view name = graph.node_name(node);
  return cat("node ", node, name.empty() ? "" : " '", name, name.empty() ? "" : "'", " (", op_name(graph.op(node)),
             ")");
}

Result<std::vector<std::pair<NodeId, uint32_t>>> find_pins(const PlacementInput& input) {
  std::vector<std::pair<NodeId, uint32_t>> pins;
  const Names names = input.options.pins.empty() ? Names() : node_names(input.graph);
  for (const auto& [key, device] : input.options.pins) {
    BP_TRY_ASSIGN(const NodeId node, find_node(input.graph, names, key));
    BP_TRY(check_device(input, node, device));
    pins.emplace_back(node, device);
  }
  return pins;
}

}  // namespace backplane
