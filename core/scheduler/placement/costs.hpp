// CostModel: what nodes, splits and copies cost, as modelled. All in whole nanoseconds, so that equal questions get
// equal answers on every machine.
//
// Thread safety: const.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backplane/graph/graph.hpp"
#include "backplane/scheduler/device_costs.hpp"

namespace backplane {

// Ops that are no op of the set count as attention: anything may be in them.
OpClass op_class(const Graph& graph, NodeId node);
// Bytes of all tensors that the node reads and writes; multiplications and additions that it does.
uint64_t node_bytes(const Graph& graph, NodeId node);
uint64_t node_flops(const Graph& graph, NodeId node);
// Whether the node's work, rather than the way to it, decides what it costs: it must not be moved to a slower device
// for the sake of copies.
bool is_heavy(const Graph& graph, NodeId node);

class CostModel {
 public:
  // Nodes cost nothing, splits and copies the same everywhere: what mode mincomm minimises.
  static CostModel communication(uint32_t device_count);
  explicit CostModel(std::vector<DeviceCosts> devices) : devices_(std::move(devices)), nodes_cost_(true) {}

  bool nodes_cost() const { return nodes_cost_; }
  int64_t node_ns(const Graph& graph, NodeId node, uint32_t device) const;
  int64_t split_ns(uint32_t device) const { return devices_[device].split_ns; }
  // Through the host, where neither is the host itself.
  int64_t copy_ns(uint64_t bytes, uint32_t from, uint32_t to) const;

 private:
  CostModel() = default;
  std::vector<DeviceCosts> devices_;
  bool nodes_cost_ = false;
};

}  // namespace backplane
