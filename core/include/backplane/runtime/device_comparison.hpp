// Comparison of two devices: a graph run node by node on both, and every result compared.
//
// To find the first node that a new backend gets wrong. Thread safety: pure functions of their arguments; the devices
// are used by a stream each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/graph/tensor_difference.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

struct DeviceComparisonOptions {
  Tolerance tolerance;
  // False = after each node the second device goes on with the first one's results, so that each node is judged by
  // itself. True = each goes on with its own, and differences pile up.
  bool accumulate = false;
  // Nodes to be compared; empty = all. The others only run.
  std::vector<NodeId> nodes;
};

// One output of one node, as both devices have it.
struct NodeComparison {
  NodeId node;
  TensorId tensor;
  const HostTensor& first;   // the expected value
  const HostTensor& second;  // the value that is judged
  TensorDifference difference;
};

struct SkippedNode {
  NodeId node;
  std::string reason;  // which device does not run it and why, or which input nobody computed
};

struct DeviceComparison {
  uint32_t compared_nodes = 0;
  std::vector<NodeId> differing;     // those of them beyond the tolerance
  std::vector<SkippedNode> skipped;  // not compared although wanted
  bool stopped = false;              // by the observer, before the end

  bool fits() const { return differing.empty(); }
};

// Called for each output that is compared; false stops. The values live as long as the call.
using ComparisonObserver = std::function<bool(const NodeComparison&)>;

// Where only one device runs a node, the other goes on with its result; where none does, what depends on it is skipped
// too. Errors: invalid_argument for a null graph, a node that is not there, or an input of another type or shape;
// not_found for a value that belongs to no input; failed_precondition naming inputs without a value; those of
// DeviceGraph::make; what a device reports, with the node's name, unless it is that it does not run the node.
Result<DeviceComparison> compare_devices(std::shared_ptr<const Graph> graph, Device& first, Device& second,
                                         const std::map<std::string, HostTensor>& inputs,
                                         const DeviceComparisonOptions& options = {},
                                         const ComparisonObserver& observer = nullptr);

}  // namespace backplane
