#include "scheduler/placement/greedy.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

// A weight this small, and this much smaller than the activations beside it, is replicated rather than followed.
constexpr uint64_t kTinyWeightBytes = 64 * 1024;
constexpr uint64_t kTinyWeightShare = 8;
// Nodes named one by one in an error; more are counted.
constexpr size_t kNamedNodes = 8;

std::string node_text(const Graph& graph, NodeId node) {
  const std::string_view name = graph.node_name(node);
  return cat("node ", node, name.empty() ? "" : " '", name, name.empty() ? "" : "'", " (", op_name(graph.op(node)),
             ")");
}

class GreedyPlacer {
 public:
  explicit GreedyPlacer(const PlacementInput& input)
      : graph_(input.graph),
        capability_(input.capability),
        devices_(input.devices),
        placements_(input.graph.node_count()) {}

  Result<std::vector<Placement>> place(const PlanOptions& options) {
    BP_TRY(check_runnable());
    BP_TRY(apply_pins(options));
    follow_weights();
    expand(/*last_too=*/false);
    expand(/*last_too=*/true);
    upgrade();
    follow_most_inputs();
    BP_TRY(unite_writers());
    for (NodeId node = 0; node < graph_.node_count(); ++node)
      placements_[node].verdict = capability_.answer(node, placements_[node].device).verdict;
    return std::move(placements_);
  }

 private:
  bool placed(NodeId node) const { return placements_[node].device != kNone; }
  void assign(NodeId node, uint32_t device, Cause cause) { placements_[node] = {.device = device, .cause = cause}; }

  Status check_runnable() const {
    std::string text;
    size_t count = 0;
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (capability_.first_runner(node) != kNone) continue;
      if (++count > kNamedNodes) continue;
      text += cat(text.empty() ? "" : "; ", node_text(graph_, node), ":");
      for (uint32_t device = 0; device < devices_.size(); ++device) {
        const std::string& reason = capability_.answer(node, device).reason;
        text += cat(device == 0 ? " " : ", ", devices_[device]->name(), " says ", reason.empty() ? "no" : reason);
      }
    }
    if (count == 0) return {};
    if (count > kNamedNodes) text += cat("; and ", count - kNamedNodes, " more");
    return unimplemented(cat("no device can run ", count, count == 1 ? " node: " : " nodes: ", text), "plan.no-device");
  }

  using Names = std::map<std::string_view, NodeId>;

  // The first node of each name.
  Names node_names() const {
    Names names;
    for (NodeId node = 0; node < graph_.node_count(); ++node) names.try_emplace(graph_.node_name(node), node);
    return names;
  }

  Result<NodeId> find_node(const Names& names, const std::string& key) const {
    if (const auto found = names.find(key); found != names.end()) return found->second;
    NodeId number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error == std::errc() && end == key.data() + key.size() && number < graph_.node_count()) return number;
    std::vector<std::string> candidates;
    for (const auto& [name, node] : names) candidates.emplace_back(name);
    return invalid_argument(
        cat("pin names node '", key, "', and the graph has no such node", did_you_mean(key, candidates)),
        "plan.pin-node");
  }

  Status apply_pins(const PlanOptions& options) {
    const Names names = options.pins.empty() ? Names() : node_names();
    for (const auto& [key, device] : options.pins) {
      BP_TRY_ASSIGN(const NodeId node, find_node(names, key));
      if (device >= devices_.size())
        return invalid_argument(
            cat("pin of ", node_text(graph_, node), " names device ", device, " of ", devices_.size()),
            "plan.pin-device");
      if (!capability_.runs(node, device)) {
        const std::string& reason = capability_.answer(node, device).reason;
        return invalid_argument(cat(node_text(graph_, node), " is pinned to ", devices_[device]->name(),
                                    ", which cannot run it", reason.empty() ? "" : ": ", reason),
                                "plan.pin-unsupported");
      }
      assign(node, device, Cause::pin);
    }
    return {};
  }

  uint64_t activation_bytes(NodeId node) const {
    uint64_t bytes = 0;
    for (const TensorId input : graph_.node_inputs(node))
      if (input != kNone && !is_weight(input)) bytes += graph_.tensor(input).bytes;
    for (const TensorId output : graph_.node_outputs(node))
      if (output != kNone) bytes += graph_.tensor(output).bytes;
    return bytes;
  }

  bool is_weight(TensorId tensor) const { return !graph_.constant(graph_.storage_of(tensor)).is_null(); }

  bool pulls(NodeId node, TensorId weight) const {
    const uint64_t bytes = graph_.storage(graph_.storage_of(weight)).bytes;
    return bytes > kTinyWeightBytes || bytes * kTinyWeightShare > activation_bytes(node);
  }

  // A constant is in nobody's memory yet: it will be put on the first device that runs its reader, and pulls it there.
  void follow_weights() {
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (placed(node)) continue;
      for (const TensorId input : graph_.node_inputs(node)) {
        if (input == kNone || !is_weight(input) || !pulls(node, input)) continue;
        assign(node, capability_.first_runner(node), Cause::weight);
        break;
      }
    }
  }

  // Lets devices take the unplaced nodes after theirs in the list, then those before.
  void expand(bool last_too) {
    uint32_t carried = kNone;
    const auto visit = [&](NodeId node, Cause cause) {
      if (placed(node)) {
        const uint32_t device = placements_[node].device;
        carried = last_too || device != capability_.last_device() ? device : kNone;
      } else if (carried != kNone && capability_.runs(node, carried)) {
        assign(node, carried, cause);
      }
    };
    for (NodeId node = 0; node < graph_.node_count(); ++node) visit(node, Cause::expand_down);
    carried = kNone;
    for (NodeId node = graph_.node_count(); node-- > 0;) visit(node, Cause::expand_up);
  }

  // The device whose memory a storage is in, as far as it is known; constants are wherever they are wanted.
  uint32_t home(StorageId storage) const {
    const Storage& s = graph_.storage(storage);
    if (s.writer != kNone) return placements_[s.writer].device;
    return capability_.last_device();
  }

  bool readable(TensorId tensor, uint32_t device) const {
    if (is_weight(tensor)) return true;
    const uint32_t owner = home(graph_.storage_of(tensor));
    return owner != kNone && capability_.reads_in_place(device, owner);
  }

  // Moves nodes up to a device that works in the very same memory and can read all they need.
  void upgrade() {
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (!placed(node) || placements_[node].cause == Cause::pin) continue;
      const uint32_t current = placements_[node].device;
      for (uint32_t device = 0; device < current; ++device) {
        const bool same_memory =
            capability_.writes_in_place(device, current) && capability_.writes_in_place(current, device);
        if (!same_memory || !capability_.runs(node, device) || !reads_all(node, device)) continue;
        assign(node, device, Cause::upgrade);
        break;
      }
    }
  }

  bool reads_all(NodeId node, uint32_t device) const {
    return std::ranges::all_of(graph_.node_inputs(node),
                               [&](TensorId input) { return input == kNone || readable(input, device); });
  }

  void follow_most_inputs() {
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (placed(node)) continue;
      uint32_t best = capability_.first_runner(node);
      uint64_t best_bytes = 0;
      for (uint32_t device = best; device < devices_.size(); ++device) {
        if (!capability_.runs(node, device)) continue;
        uint64_t bytes = 0;
        for (const TensorId input : graph_.node_inputs(node))
          if (input != kNone && !is_weight(input) && readable(input, device)) bytes += graph_.tensor(input).bytes;
        if (bytes > best_bytes) best = device, best_bytes = bytes;
      }
      assign(node, best, best_bytes > 0 ? Cause::most_inputs : Cause::fallback);
    }
  }

  // All nodes that write one storage must be on one device: the first writer's, or the first that runs them all.
  Status unite_writers() {
    std::map<StorageId, std::vector<NodeId>> writers;
    for (NodeId node = 0; node < graph_.node_count(); ++node)
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone) writers[graph_.storage_of(output)].push_back(node);
    for (const auto& [storage, nodes] : writers) {
      if (nodes.size() < 2) continue;
      BP_TRY_ASSIGN(const uint32_t device, common_device(storage, nodes));
      for (const NodeId node : nodes)
        if (placements_[node].device != device) assign(node, device, Cause::location);
    }
    return {};
  }

  Result<uint32_t> common_device(StorageId storage, const std::vector<NodeId>& nodes) const {
    const auto runs_all = [&](uint32_t device) {
      return std::ranges::all_of(nodes, [&](NodeId node) {
        return capability_.runs(node, device) &&
               (placements_[node].cause != Cause::pin || placements_[node].device == device);
      });
    };
    if (runs_all(placements_[nodes.front()].device)) return placements_[nodes.front()].device;
    for (uint32_t device = 0; device < devices_.size(); ++device)
      if (runs_all(device)) return device;
    return unimplemented(
        cat("no device can run all ", nodes.size(), " nodes that write ",
            graph_.tensor_text(graph_.storage(storage).root), "; the first is ", node_text(graph_, nodes.front())),
        "plan.no-device");
  }

  const Graph& graph_;
  const Capability& capability_;
  const std::vector<Device*>& devices_;
  std::vector<Placement> placements_;
};

}  // namespace

Result<std::vector<Placement>> place_greedy(const PlacementInput& input) {
  return GreedyPlacer(input).place(input.options);
}

}  // namespace backplane
