#include "scheduler/placement/placement.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "backplane/base/text.hpp"
#include "scheduler/placement/communication.hpp"
#include "scheduler/placement/costs.hpp"
#include "scheduler/placement/greedy.hpp"
#include "scheduler/placement/mincut.hpp"
#include "scheduler/placement/reorder.hpp"

namespace backplane {
namespace {

// What the cuts may look at, and once more what explains them: so much for any graph, and so much more for each node.
constexpr int64_t kWork = int64_t{1} << 22;
constexpr int64_t kWorkPerNode = 512;
// With measured costs, a placement must be better by a twentieth to be worth leaving greedy's.
constexpr int64_t kCostShare = 20;

SplitResult cut(const PlacementInput& input, const std::vector<Placement>& placements,
                const std::vector<NodeId>& order) {
  return split_graph({input.graph, input.capability, input.options, input.located, placements, order});
}

// What a placement and an order come to.
struct Outcome {
  size_t splits = 0, copies = 0;
  uint64_t bytes = 0;
  int64_t ns = 0;
};

Outcome outcome_of(const PlacementInput& input, const CostModel& costs, const std::vector<Placement>& placements,
                   const SplitResult& cut) {
  Outcome outcome{cut.splits.size(), cut.copies.size(), cut.copy_bytes(), 0};
  for (const Split& split : cut.splits) outcome.ns += costs.split_ns(split.device);
  for (const PlannedCopy& copy : cut.copies) outcome.ns += costs.copy_ns(copy.bytes(), copy.from, copy.to);
  if (costs.nodes_cost())
    for (NodeId node = 0; node < input.graph.node_count(); ++node)
      outcome.ns += costs.node_ns(input.graph, node, placements[node].device);
  return outcome;
}

class Improver {
 public:
  // `greedy` is the outcome of `result`, which is replaced by a better one.
  Improver(const PlacementInput& input, const CostModel& costs, const Outcome& greedy, PlacementResult& result)
      : input_(input),
        graph_(input.graph),
        costs_(costs),
        communication_(input, costs),
        choices_(input, result.placements, costs.nodes_cost()),
        greedy_(greedy),
        result_(result) {}

  void improve() {
    std::vector<uint32_t> devices(graph_.node_count());
    std::ranges::transform(result_.placements, devices.begin(), &Placement::device);
    const std::vector<uint32_t> before = devices;
    int64_t work = total_work();
    if (choices_.free_count() != 0) improve_by_cuts(communication_, choices_, devices, work);
    if (devices != before) {
      std::vector<Placement> others = move_nodes(before, devices);
      if (accept_reordered(devices) || accept(result_.order)) return explain_moves(before, devices);
      swap_moved(before, devices, others);
    }
    accept_reordered(before);
  }

 private:
  bool is_better(const Outcome& outcome) const {
    if (costs_.nodes_cost()) return outcome.ns <= greedy_.ns - greedy_.ns / kCostShare && outcome.ns < greedy_.ns;
    return outcome.splits <= greedy_.splits && outcome.copies <= greedy_.copies && outcome.bytes <= greedy_.bytes &&
           outcome.ns < greedy_.ns;
  }

  // If it makes the result better.
  bool accept(std::vector<NodeId> order) {
    SplitResult cut_anew = cut(input_, result_.placements, order);
    if (!is_better(outcome_of(input_, costs_, result_.placements, cut_anew))) return false;
    result_.order = std::move(order);
    result_.cut = std::move(cut_anew);
    return true;
  }

  // With the nodes in a better order, if there is one.
  bool accept_reordered(const std::vector<uint32_t>& devices) {
    const uint32_t device_count = input_.capability.device_count();
    if (!input_.options.cuts.empty()) return false;  // somebody watches the nodes in the order of the list
    if (count_runs(result_.order, devices) <= least_runs(graph_, devices, device_count)) return false;
    if (!dependencies_) dependencies_.emplace(graph_);
    std::vector<NodeId> order = reorder(graph_, *dependencies_, devices, device_count, input_.options.reorder_window);
    return order != result_.order && accept(std::move(order));
  }

  // Returns the placements that the moved nodes had.
  std::vector<Placement> move_nodes(const std::vector<uint32_t>& before, const std::vector<uint32_t>& devices) {
    std::vector<Placement> moved;
    for (NodeId node = 0; node < devices.size(); ++node)
      if (before[node] != devices[node])
        moved.push_back({.device = devices[node],
                         .cause = costs_.nodes_cost() ? Cause::cost : Cause::min_cut,
                         .verdict = input_.capability.verdict(node, devices[node])});
    swap_moved(before, devices, moved);
    return moved;
  }

  void swap_moved(const std::vector<uint32_t>& before, const std::vector<uint32_t>& devices,
                  std::vector<Placement>& placements) {
    size_t next = 0;
    for (NodeId node = 0; node < devices.size(); ++node)
      if (before[node] != devices[node]) std::swap(result_.placements[node], placements[next++]);
  }

  void explain_moves(const std::vector<uint32_t>& before, std::vector<uint32_t>& devices) {
    int64_t work = total_work();
    for (NodeId node = 0; node < devices.size(); ++node) {
      if (devices[node] == before[node]) continue;
      work -= reader_count(node) * input_.capability.device_count();
      if (work <= 0) return;
      result_.placements[node].because = nearest_neighbour(node, devices);
      find_runner_up(node, devices);
    }
  }

  int64_t total_work() const { return kWork + kWorkPerNode * int64_t{graph_.node_count()}; }

  template <class Visit>
  void for_each_storage(NodeId node, const Visit& visit) const {
    for (const auto tensors : {graph_.node_inputs(node), graph_.node_outputs(node)})
      for (const TensorId tensor : tensors)
        if (tensor != kNone && communication_.is_copied(graph_.storage_of(tensor))) visit(graph_.storage_of(tensor));
  }

  int64_t reader_count(NodeId node) const {
    int64_t count = 1;
    for_each_storage(node,
                     [&](StorageId storage) { count += static_cast<int64_t>(communication_.readers(storage).size()); });
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
  const Outcome greedy_;
  std::optional<Dependencies> dependencies_;
  PlacementResult& result_;
};

size_t devices_used(const PlacementInput& input, const std::vector<Placement>& placements) {
  std::vector<bool> used(input.capability.device_count());
  for (const Placement& placement : placements) used[placement.device] = true;
  return static_cast<size_t>(std::ranges::count(used, true));
}

// Whether there is anything to improve that is not the user's will.
bool is_worth_improving(const PlacementInput& input, const std::vector<Placement>& placements) {
  uint32_t usable = 0;
  for (uint32_t device = 0; device < input.capability.device_count(); ++device)
    usable += input.capability.usable(device);
  const auto pins = std::ranges::count(placements, Cause::pin, &Placement::cause);
  return usable > 1 && static_cast<size_t>(pins) * 2 <= placements.size();
}

Result<CostModel> cost_model(const PlacementInput& input) {
  std::vector<DeviceCosts> costs = input.options.device_costs;
  if (input.options.mode != PlacementMode::cost) return CostModel::communication(input.capability.device_count());
  if (!costs.empty() && costs.size() != input.devices.size())
    return invalid_argument(
        cat("device_costs has figures of ", costs.size(), " devices, and there are ", input.devices.size()),
        "plan.device-costs");
  if (costs.empty())
    for (const Device* device : input.devices) costs.push_back(default_costs(device->type()));
  return CostModel(std::move(costs));
}

}  // namespace

Result<PlacementResult> place(const PlacementInput& input) {
  PlacementResult result;
  BP_TRY_ASSIGN(result.placements, place_greedy(input));
  result.order.resize(input.graph.node_count());
  std::iota(result.order.begin(), result.order.end(), 0u);
  result.cut = cut(input, result.placements, result.order);
  if (input.options.mode == PlacementMode::greedy || !is_worth_improving(input, result.placements)) return result;
  BP_TRY_ASSIGN(const CostModel costs, cost_model(input));
  const Outcome greedy = outcome_of(input, costs, result.placements, result.cut);
  const bool is_best = greedy.copies == 0 && greedy.splits <= devices_used(input, result.placements);
  if (costs.nodes_cost() || !is_best) Improver(input, costs, greedy, result).improve();
  return result;
}

}  // namespace backplane
