#include "backplane/runtime/device_comparison.hpp"

#include <algorithm>
#include <array>

#include "backplane/base/text.hpp"
#include "backplane/runtime/device_graph.hpp"

namespace backplane {
namespace {

std::string node_text(const Graph& graph, NodeId node) {
  const std::string_view name = graph.node_name(node);
  return cat("node ", node, " (", op_name(graph.op(node)), name.empty() ? "" : " ", name, ")");
}

// A device with the graph on it, and what it says about the nodes. The stream ends before the memory it uses.
struct Side {
  static Result<Side> make(std::shared_ptr<const Graph> graph, Device& device) {
    BP_TRY_ASSIGN(DeviceGraph memory, DeviceGraph::make(graph, device));
    BP_TRY_ASSIGN(Stream stream, device.create_stream());
    BP_TRY_ASSIGN(NodeAnswers answers, device.query(graph->abi()));
    return Side{std::move(memory), std::move(stream), std::move(answers)};
  }

  // The reason why the device does not run the node; empty = it has run.
  Result<std::string> run(NodeId node) {
    const std::string& name = memory.device().name();
    if (!answers[node].runs())
      return cat(name, " does not run it", answers[node].reason.empty() ? "" : ": ", answers[node].reason);
    const Subgraph part = memory.part({&node, 1});
    const Status queued = stream.submit(part.abi(), 0);
    const Status finished = stream.synchronize();
    const Status& status = queued.ok() ? finished : queued;
    if (status.code() == Code::unimplemented)
      return cat(name, " said that it runs it, and refused: ", status.message());
    if (!status.ok()) return status.with_context(node_text(memory.graph(), node));
    return std::string();
  }

  Result<HostTensor> read(TensorId id) const {
    BP_TRY_ASSIGN(const PlacedTensor tensor, memory.tensor(id));
    return tensor.read();
  }

  Status write(TensorId id, const HostTensor& value) {
    BP_TRY_ASSIGN(PlacedTensor tensor, memory.tensor(id));
    return tensor.write(value);
  }

  DeviceGraph memory;
  Stream stream;
  NodeAnswers answers;
};

class Comparer {
 public:
  Comparer(const Graph& graph, Side first, Side second, const DeviceComparisonOptions& options,
           const ComparisonObserver& observer)
      : graph_(graph),
        first_(std::move(first)),
        second_(std::move(second)),
        options_(options),
        observer_(observer),
        known_(graph.storage_count()),
        wanted_(graph.node_count(), options.nodes.empty()) {
    for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
      known_[storage] = graph.storage(storage).writer == kNone;
  }

  Status check_nodes() {
    for (const NodeId node : options_.nodes) {
      if (node >= graph_.node_count())
        return invalid_argument(cat("there is no node ", node, "; the graph has ", graph_.node_count()));
      wanted_[node] = true;
    }
    return {};
  }

  Status set_inputs(const std::map<std::string, HostTensor>& inputs) {
    for (const auto& [name, value] : inputs)
      if (graph_.find_input(name) == nullptr) return not_found(cat("the graph has no input '", name, "'"));
    std::string missing;
    for (const Graph::Port& port : graph_.inputs()) {
      const auto found = inputs.find(port.name);
      if (found == inputs.end()) {
        missing += cat(missing.empty() ? "" : ", ", graph_.tensor_text(port.tensor));
        continue;
      }
      for (Side* side : {&first_, &second_})
        BP_TRY(side->write(port.tensor, found->second).with_context(cat("input '", port.name, "'")));
    }
    return missing.empty() ? Status() : failed_precondition(cat("these inputs have no value: ", missing));
  }

  Result<DeviceComparison> run() {
    for (NodeId node = 0; node < graph_.node_count() && !result_.stopped; ++node) BP_TRY(visit(node));
    return std::move(result_);
  }

 private:
  Status visit(NodeId node) {
    for (const TensorId input : graph_.node_inputs(node))
      if (input != kNone && !known_[graph_.storage_of(input)]) {
        skip(node, cat("no device computed its input ", graph_.tensor_text(input)));
        set_outputs_known(node, false);
        return {};
      }
    BP_TRY_ASSIGN(const std::string first_reason, first_.run(node));
    BP_TRY_ASSIGN(const std::string second_reason, second_.run(node));
    const bool first_ran = first_reason.empty(), second_ran = second_reason.empty();
    set_outputs_known(node, first_ran || second_ran);
    if (first_ran && second_ran) return compare(node);
    skip(node, cat(first_reason, first_ran || second_ran ? "" : "; ", second_reason));
    if (first_ran) return hand_over(node, first_, second_);
    return second_ran ? hand_over(node, second_, first_) : Status();
  }

  void skip(NodeId node, std::string reason) {
    if (wanted_[node]) result_.skipped.push_back({node, std::move(reason)});
  }

  void set_outputs_known(NodeId node, bool known) {
    for (const TensorId output : graph_.node_outputs(node))
      if (output != kNone) set_known(output, known);
  }

  // Who writes but a part of a storage does not make the rest of it known.
  void set_known(TensorId output, bool known) {
    const StorageId storage = graph_.storage_of(output);
    known_[storage] = known && (known_[storage] || !graph_.is_view(output));
  }

  Status hand_over(NodeId node, const Side& from, Side& to) {
    for (const TensorId output : graph_.node_outputs(node)) {
      if (output == kNone) continue;
      BP_TRY_ASSIGN(const HostTensor value, from.read(output));
      BP_TRY(to.write(output, value));
    }
    return {};
  }

  Status compare(NodeId node) {
    bool fits = true;
    for (const TensorId output : graph_.node_outputs(node)) {
      if (output == kNone || !wanted_[node]) continue;
      BP_TRY_ASSIGN(const HostTensor expected, first_.read(output));
      BP_TRY_ASSIGN(const HostTensor got, second_.read(output));
      const TensorDifference difference = tensor_difference(got, expected, options_.tolerance);
      fits = fits && difference.fits();
      if (observer_ && !observer_({node, output, expected, got, difference})) result_.stopped = true;
      if (result_.stopped) break;
    }
    if (wanted_[node]) ++result_.compared_nodes;
    if (!fits) result_.differing.push_back(node);
    return options_.accumulate || result_.stopped ? Status() : hand_over(node, first_, second_);
  }

  const Graph& graph_;
  Side first_, second_;
  const DeviceComparisonOptions& options_;
  const ComparisonObserver& observer_;
  std::vector<bool> known_;   // by storage: both devices have its value
  std::vector<bool> wanted_;  // by node
  DeviceComparison result_;
};

}  // namespace

Result<DeviceComparison> compare_devices(std::shared_ptr<const Graph> graph, Device& first, Device& second,
                                         const std::map<std::string, HostTensor>& inputs,
                                         const DeviceComparisonOptions& options, const ComparisonObserver& observer) {
  if (graph == nullptr) return invalid_argument("the graph is null");
  BP_TRY_ASSIGN(Side first_side, Side::make(graph, first));
  BP_TRY_ASSIGN(Side second_side, Side::make(graph, second));
  Comparer comparer(*graph, std::move(first_side), std::move(second_side), options, observer);
  BP_TRY(comparer.check_nodes());
  BP_TRY(comparer.set_inputs(inputs));
  return comparer.run();
}

}  // namespace backplane
