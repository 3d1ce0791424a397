#include "scheduler/placement/greedy.hpp"

#include <algorithm>
#include <string>

#include "backplane/base/text.hpp"
#include "scheduler/placement/pins.hpp"
#include "scheduler/placement/writers.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {
namespace {

// A weight that is replicated is not followed if it is this much smaller than the activations beside it.
constexpr uint64_t kTinyWeightShare = 8;
// Nodes named one by one in an error; more are counted.
constexpr size_t kNamedNodes = 8;

class GreedyPlacer {
 public:
  explicit GreedyPlacer(const PlacementInput& input)
      : input_(input),
        graph_(input.graph),
        capability_(input.capability),
        device_count_(input.capability.device_count()),
        any_located_(std::ranges::any_of(input.located, [](uint32_t device) { return device != kNone; })),
        writers_(first_writers(input.graph)),
        placements_(input.graph.node_count()) {}

  Result<std::vector<Placement>> place() {
    BP_TRY(check_runnable());
    BP_TRY_ASSIGN(const auto pins, find_pins(input_));
    for (const auto& [node, device] : pins) assign(node, device, Cause::pin, kNone);
    for (NodeId node = 0; node < graph_.node_count(); ++node)
      if (!placed(node) && !follow_location(node)) follow_weight(node);
    expand(/*last_too=*/false);
    expand(/*last_too=*/true);
    upgrade();
    for (NodeId node = 0; node < graph_.node_count(); ++node)
      if (!placed(node)) follow_most_inputs(node);
    for (NodeId node = 0; node < graph_.node_count(); ++node) follow_first_writer(node);
    for (NodeId node = 0; node < graph_.node_count(); ++node)
      placements_[node].verdict = capability_.verdict(node, placements_[node].device);
    return std::move(placements_);
  }

 private:
  bool placed(NodeId node) const { return placements_[node].device != kNone; }
  void assign(NodeId node, uint32_t device, Cause cause, uint32_t because) {
    placements_[node] = {.device = device, .cause = cause, .because = because};
  }

  Status check_runnable() const {
    std::string text;
    size_t count = 0;
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (capability_.first_runner(node) != kNone) continue;
      if (++count > kNamedNodes) continue;
      text += cat(text.empty() ? "" : "; ", node_text(graph_, node), ":");
      for (uint32_t device = 0; device < device_count_; ++device) {
        const std::string_view reason = capability_.answer(node, device).reason;
        text += cat(device == 0 ? " " : ", ", input_.devices[device]->name(), " says ", reason.empty() ? "no" : reason);
      }
    }
    if (count == 0) return {};
    if (count > kNamedNodes) text += cat("; and ", count - kNamedNodes, " more");
    return unimplemented(cat("no device can run ", count, count == 1 ? " node: " : " nodes: ", text), "plan.no-device");
  }

  // The first device that runs the node and writes what is in `owner`'s memory where it is; kNone if there is none.
  uint32_t first_writer_of(NodeId node, uint32_t owner) const {
    for (uint32_t device = 0; device < device_count_; ++device)
      if (capability_.writes_in_place(device, owner) && capability_.runs(node, device)) return device;
    return kNone;
  }
  uint32_t first_reader_of(NodeId node, uint32_t owner) const {
    for (uint32_t device = 0; device < device_count_; ++device)
      if (capability_.reads_in_place(device, owner) && capability_.runs(node, device)) return device;
    return kNone;
  }

  // A node goes to the storage that it writes, if that is somewhere. Where no device of that memory runs the node, the
  // rest decides; the splitter then writes back.
  bool follow_location(NodeId node) {
    if (!any_located_) return false;
    for (const TensorId output : graph_.node_outputs(node)) {
      if (output == kNone || input_.located[graph_.storage_of(output)] == kNone) continue;
      const uint32_t device = first_writer_of(node, input_.located[graph_.storage_of(output)]);
      if (device == kNone) continue;
      assign(node, device, Cause::location, graph_.storage(graph_.storage_of(output)).root);
      return true;
    }
    return false;
  }

  uint64_t activation_bytes(NodeId node) const {
    uint64_t bytes = 0;
    for (const TensorId input : graph_.node_inputs(node))
      if (input != kNone && !graph_.is_constant(graph_.storage_of(input))) bytes += graph_.tensor(input).bytes;
    for (const TensorId output : graph_.node_outputs(node))
      if (output != kNone) bytes += graph_.tensor(output).bytes;
    return bytes;
  }

  bool is_tiny(NodeId node, uint64_t weight_bytes) const {
    return input_.options.soft_weights && weight_bytes <= kReplicatedBytes &&
           weight_bytes * kTinyWeightShare <= activation_bytes(node);
  }

  // Of the constants and located states that a node reads, the largest one with a location decides, else the first
  // without: that one will be put on the first device that runs its reader.
  void follow_weight(NodeId node) {
    Placement best;
    uint64_t best_bytes = 0;
    for (const TensorId input : graph_.node_inputs(node)) {
      if (input == kNone) continue;
      const StorageId storage = graph_.storage_of(input);
      const uint32_t owner = input_.located[storage];
      const bool constant = graph_.is_constant(storage);
      if (!constant && owner == kNone) continue;
      const uint64_t bytes = graph_.storage(storage).bytes;
      const bool decides = owner == kNone ? best.device == kNone : best_bytes == 0 || bytes > best_bytes;
      if (!decides || (constant && is_tiny(node, bytes))) continue;
      const uint32_t device = owner == kNone ? capability_.first_runner(node) : first_reader_of(node, owner);
      if (device == kNone) continue;
      best = {.device = device, .cause = constant ? Cause::weight : Cause::location, .because = input};
      if (owner != kNone) best_bytes = std::max(bytes, uint64_t{1});
    }
    if (best.cause == Cause::weight && best.device == capability_.last_device() &&
        input_.located[graph_.storage_of(best.because)] == best.device)
      offload(node, best_bytes, best);
    placements_[node] = best;
  }

  // A weight of the last device is copied for each run where the work is worth it.
  void offload(NodeId node, uint64_t weight_bytes, Placement& placement) const {
    const uint64_t ratio = input_.options.offload_ratio;
    for (uint32_t device = 0; device < placement.device; ++device) {
      if (capability_.verdict(node, device) != BP_VERDICT_PREFERRED) continue;
      if (ratio == 0 || (weight_bytes - 1) / ratio >= activation_bytes(node)) return;
      placement.device = device;
      placement.cause = Cause::offload;
      return;
    }
  }

  // Lets devices take the unplaced nodes after theirs in the list, then those before.
  void expand(bool last_too) {
    uint32_t carried = kNone, carrier = kNone;
    const auto visit = [&](NodeId node, Cause cause) {
      if (placed(node)) {
        const uint32_t device = placements_[node].device;
        carried = last_too || device != capability_.last_device() ? device : kNone;
        carrier = node;
      } else if (carried != kNone && capability_.runs(node, carried)) {
        assign(node, carried, cause, carrier);
        carrier = node;
      }
    };
    for (NodeId node = 0; node < graph_.node_count(); ++node) visit(node, Cause::expand_down);
    carried = kNone;
    for (NodeId node = graph_.node_count(); node-- > 0;) visit(node, Cause::expand_up);
  }

  // The device whose memory a storage is in; kNone while its writer is not placed.
  uint32_t home(StorageId storage) const {
    if (input_.located[storage] != kNone) return input_.located[storage];
    const NodeId writer = writers_[storage];
    return writer != kNone ? placements_[writer].device : capability_.last_device();
  }

  bool readable(TensorId tensor, uint32_t device) const {
    const StorageId storage = graph_.storage_of(tensor);
    if (input_.located[storage] == kNone && graph_.is_constant(storage)) return true;
    const uint32_t owner = home(storage);
    return owner != kNone && capability_.reads_in_place(device, owner);
  }

  bool reads_all(NodeId node, uint32_t device) const {
    return std::ranges::all_of(graph_.node_inputs(node),
                               [&](TensorId input) { return input == kNone || readable(input, device); });
  }

  bool same_memory(uint32_t a, uint32_t b) const {
    return capability_.writes_in_place(a, b) && capability_.writes_in_place(b, a);
  }

  // Moves nodes up to a device that works in the very same memory and can read all they need.
  void upgrade() {
    std::vector<std::vector<uint32_t>> higher(device_count_);  // by device: those that share its memory
    bool any = false;
    for (uint32_t device = 0; device < device_count_; ++device)
      for (uint32_t other = 0; other < device; ++other)
        if (same_memory(other, device)) higher[device].push_back(other), any = true;
    if (!any) return;
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      if (placements_[node].cause != Cause::expand_down && placements_[node].cause != Cause::expand_up) continue;
      for (const uint32_t device : higher[placements_[node].device])
        if (capability_.runs(node, device) && reads_all(node, device)) {
          assign(node, device, Cause::upgrade, kNone);
          break;
        }
    }
  }

  uint64_t readable_bytes(NodeId node, uint32_t device) const {
    uint64_t bytes = 0;
    for (const TensorId input : graph_.node_inputs(node))
      if (input != kNone && !graph_.is_constant(graph_.storage_of(input)) && readable(input, device))
        bytes += graph_.tensor(input).bytes;
    return bytes;
  }

  void follow_most_inputs(NodeId node) {
    uint32_t best = kNone;
    uint64_t best_bytes = 0;
    for (uint32_t device = 0; device < device_count_; ++device) {
      if (!capability_.runs(node, device)) continue;
      const uint64_t bytes = readable_bytes(node, device);
      if (best == kNone || bytes > best_bytes) best = device, best_bytes = bytes;
    }
    assign(node, best, best_bytes > 0 ? Cause::most_inputs : Cause::fallback, kNone);
  }

  // Nodes that write what another one wrote before go where they need not write a copy of it, if they can.
  void follow_first_writer(NodeId node) {
    if (placements_[node].cause == Cause::pin || placements_[node].cause == Cause::location) return;
    for (const TensorId output : graph_.node_outputs(node)) {
      if (output == kNone) continue;
      const StorageId storage = graph_.storage_of(output);
      if (writers_[storage] == node) continue;
      const uint32_t owner = home(storage);
      if (capability_.writes_in_place(placements_[node].device, owner)) continue;
      const uint32_t device = first_writer_of(node, owner);
      if (device == kNone) continue;
      assign(node, device, Cause::location, graph_.storage(storage).root);
      return;
    }
  }

  const PlacementInput& input_;
  const Graph& graph_;
  const Capability& capability_;
  const uint32_t device_count_;
  const bool any_located_;
  const std::vector<NodeId> writers_;  // by storage: the first one
  std::vector<Placement> placements_;
};

}  // namespace

Result<std::vector<Placement>> place_greedy(const PlacementInput& input) { return GreedyPlacer(input).place(); }

}  // namespace backplane
