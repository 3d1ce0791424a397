#include "scheduler/placement/placement.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "scheduler/placement/communication.hpp"
#include "scheduler/placement/costs.hpp"
#include "scheduler/placement/greedy.hpp"
#include "scheduler/placement/mincut.hpp"
#include "scheduler/placement/reorder.hpp"
#include "scheduler/plan/splitter.hpp"

namespace backplane {
namespace {

// What the cuts may look at: so much for any graph, and so much more for each node.
constexpr int64_t kWork = int64_t{1} << 22;
constexpr int64_t kWorkPerNode = 512;
// With measured costs, a placement must be better by a twentieth to be worth leaving greedy's.
constexpr int64_t kCostShare = 20;
// Why a node was moved is looked for only where its storages have no more readers than this.
constexpr size_t kExplainedReaders = 256;

// What a placement and an order come to.
struct Outcome {
  size_t splits = 0, copies = 0;
  uint64_t bytes = 0;
  int64_t ns = 0;
};

class Improver {
 public:
  Improver(const PlacementInput& input, const CostModel& costs, PlacementResult& result)
      : input_(input),
        graph_(input.graph),
        costs_(costs),
        communication_(input, costs),
        choices_(input, result.placements, costs.nodes_cost()),
        result_(result) {}

  void improve() {
    const Outcome greedy = outcome(result_.placements, result_.order);
    if (!costs_.nodes_cost() && greedy.copies == 0 && greedy.splits <= devices_used()) return;
    std::vector<uint32_t> devices(graph_.node_count());
    std::ranges::transform(result_.placements, devices.begin(), &Placement::device);
    const std::vector<uint32_t> before = devices;
    int64_t work = kWork + kWorkPerNode * int64_t{graph_.node_count()};
    if (choices_.free_count() != 0) improve_by_cuts(communication_, choices_, devices, work);
    const std::vector<Placement> moved = devices == before ? result_.placements : with_devices(devices);
    if (devices != before && (accept_reordered(moved, devices, greedy) || accept(moved, result_.order, greedy)))
      return explain_moves(before, devices);
    accept_reordered(result_.placements, before, greedy);
  }

 private:
  Outcome outcome(const std::vector<Placement>& placements, const std::vector<NodeId>& order) const {
    const SplitResult cut = split_graph({graph_, input_.capability, input_.options, input_.located, placements, order});
    Outcome outcome{cut.splits.size(), cut.copies.size(), cut.copy_bytes(), 0};
    for (const Split& split : cut.splits) outcome.ns += costs_.split_ns(split.device);
    for (const PlannedCopy& copy : cut.copies) outcome.ns += costs_.copy_ns(copy.bytes(), copy.from, copy.to);
    if (costs_.nodes_cost())
      for (NodeId node = 0; node < graph_.node_count(); ++node)
        outcome.ns += costs_.node_ns(graph_, node, placements[node].device);
    return outcome;
  }

  size_t devices_used() const {
    std::vector<bool> used(input_.capability.device_count());
    for (const Placement& placement : result_.placements) used[placement.device] = true;
    return static_cast<size_t>(std::ranges::count(used, true));
  }

  bool is_better(const Outcome& outcome, const Outcome& than) const {
    if (costs_.nodes_cost()) return outcome.ns <= than.ns - than.ns / kCostShare && outcome.ns < than.ns;
    return outcome.splits <= than.splits && outcome.copies <= than.copies && outcome.bytes <= than.bytes &&
           outcome.ns < than.ns;
  }

  bool accept(const std::vector<Placement>& placements, const std::vector<NodeId>& order, const Outcome& than) {
    if (!is_better(outcome(placements, order), than)) return false;
    result_ = {placements, order};
    return true;
  }

  // With the nodes in a better order, if there is one.
  bool accept_reordered(const std::vector<Placement>& placements, const std::vector<uint32_t>& devices,
                        const Outcome& than) {
    if (!input_.options.cuts.empty()) return false;  // somebody watches the nodes in the order of the list
    if (!dependencies_) dependencies_.emplace(graph_);
    const std::vector<NodeId> order =
        reorder(graph_, *dependencies_, devices, input_.capability.device_count(), input_.options.reorder_window);
    return order != result_.order && accept(placements, order, than);
  }

  std::vector<Placement> with_devices(const std::vector<uint32_t>& devices) const {
    std::vector<Placement> placements = result_.placements;
    for (NodeId node = 0; node < placements.size(); ++node)
      if (placements[node].device != devices[node])
        placements[node] = {.device = devices[node],
                            .cause = costs_.nodes_cost() ? Cause::cost : Cause::min_cut,
                            .verdict = input_.capability.verdict(node, devices[node])};
    return placements;
  }

  void explain_moves(const std::vector<uint32_t>& before, std::vector<uint32_t>& devices) {
    for (NodeId node = 0; node < devices.size(); ++node) {
      if (devices[node] == before[node] || reader_count(node) > kExplainedReaders) continue;
      result_.placements[node].because = nearest_neighbour(node, devices);
      find_runner_up(node, devices);
    }
  }

  template <class Visit>
  void for_each_storage(NodeId node, const Visit& visit) const {
    for (const auto tensors : {graph_.node_inputs(node), graph_.node_outputs(node)})
      for (const TensorId tensor : tensors)
        if (tensor != kNone && communication_.is_copied(graph_.storage_of(tensor))) visit(graph_.storage_of(tensor));
  }

  size_t reader_count(NodeId node) const {
    size_t count = 0;
    for_each_storage(node, [&](StorageId storage) { count += communication_.readers(storage).size(); });
    return count;
  }

  // The other end of the largest storage that the node shares with a node of its device.
  NodeId nearest_neighbour(NodeId node, std::span<const uint32_t> devices) const {
    NodeId nearest = kNone;
    uint64_t most = 0;
    const auto consider = [&](NodeId other, StorageId storage) {
      if (other == kNone || other == node || devices[other] != devices[node]) return;
      const uint64_t bytes = graph_.storage(storage).bytes;
      if (nearest == kNone || bytes > most) nearest = other, most = bytes;
    };
    for_each_storage(node, [&](StorageId storage) {
      consider(communication_.producer(storage), storage);
      if (communication_.producer(storage) == node)
        for (const NodeId reader : communication_.readers(storage)) consider(reader, storage);
    });
    return nearest;
  }

  int64_t node_and_copies_ns(NodeId node, std::span<const uint32_t> devices) {
    int64_t ns = costs_.node_ns(graph_, node, devices[node]);
    for_each_storage(node, [&](StorageId storage) { ns += communication_.storage_ns(storage, devices); });
    return ns;
  }

  void find_runner_up(NodeId node, std::vector<uint32_t>& devices) {
    Placement& placement = result_.placements[node];
    const int64_t here = node_and_copies_ns(node, devices);
    for (uint32_t device = 0; device < input_.capability.device_count(); ++device) {
      if (device == placement.device || !choices_.allows(node, device)) continue;
      devices[node] = device;
      const int64_t more = node_and_copies_ns(node, devices) - here;
      if (placement.runner_up == kNone || more < placement.saved_ns)
        placement.runner_up = device, placement.saved_ns = more;
    }
    devices[node] = placement.device;
  }

  const PlacementInput& input_;
  const Graph& graph_;
  const CostModel& costs_;
  Communication communication_;
  const Choices choices_;
  std::optional<Dependencies> dependencies_;
  PlacementResult& result_;
};

// Whether there is anything to improve that is not the user's will.
bool is_worth_improving(const PlacementInput& input, const std::vector<Placement>& placements) {
  uint32_t usable = 0;
  for (uint32_t device = 0; device < input.capability.device_count(); ++device)
    usable += input.capability.usable(device);
  const auto pins = std::ranges::count(placements, Cause::pin, &Placement::cause);
  return usable > 1 && static_cast<size_t>(pins) * 2 <= placements.size();
}

}  // namespace

Result<PlacementResult> place(const PlacementInput& input) {
  PlacementResult result;
  BP_TRY_ASSIGN(result.placements, place_greedy(input));
  result.order.resize(input.graph.node_count());
  std::iota(result.order.begin(), result.order.end(), 0u);
  if (input.options.mode == PlacementMode::greedy || !is_worth_improving(input, result.placements)) return result;
  const CostModel costs = CostModel::communication(input.capability.device_count());
  Improver(input, costs, result).improve();
  return result;
}

}  // namespace backplane
