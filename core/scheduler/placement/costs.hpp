// CostModel: what nodes, splits and copies cost, as modelled. All in whole nanoseconds, so that equal questions get
// equal answers on every machine.
//
// Thread safety: const.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backplane/graph/graph.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

enum class OpClass : uint8_t { matmul, quantised_matmul, convolution, attention, elementwise, movement };
inline constexpr size_t kOpClassCount = 6;

// Ops that are no op of the set count as attention: anything may be in them.
OpClass op_class(const Graph& graph, NodeId node);
// Bytes of all tensors that the node reads and writes; multiplications and additions that it does.
uint64_t node_bytes(const Graph& graph, NodeId node);
uint64_t node_flops(const Graph& graph, NodeId node);
// Whether the node's work, rather than the way to it, decides what it costs: it must not be moved to a slower device
// for the sake of copies.
bool is_heavy(const Graph& graph, NodeId node);

// What is known of one device. The defaults are neither measured nor of any device in particular.
struct DeviceCosts {
  bool calibrated = false;
  int64_t launch_ns = 5'000;                                     // of a node
  int64_t split_ns = 15'000;                                     // to submit a split and wait for it
  std::array<int64_t, kOpClassCount> flops_per_us = {};          // by OpClass
  int64_t bytes_per_us = 0;                                      // of its memory
  int64_t link_latency_ns = 10'000, link_bytes_per_us = 12'000;  // from and to the host

  bool operator==(const DeviceCosts&) const = default;
};
// For a device of a type (BP_DEVICE_*) that nothing else is known of.
DeviceCosts default_costs(uint32_t device_type);

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
