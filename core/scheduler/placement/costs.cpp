#include "scheduler/placement/costs.hpp"

#include <algorithm>

#include "backplane/abi/device.h"

namespace backplane {
namespace {

// Nothing costs more than this (18 minutes), so that sums over a million of things do not overflow.
constexpr int64_t kMostNs = int64_t{1} << 40;
// A node of a cheap op that touches more than this is worth a fast memory.
constexpr uint64_t kLightBytes = uint64_t{4} << 20;

int64_t time_ns(uint64_t amount, int64_t amount_per_us) {
  if (amount_per_us <= 0) return 0;
  const auto rate = static_cast<uint64_t>(amount_per_us);
  const uint64_t whole_us = std::min(amount / rate, static_cast<uint64_t>(kMostNs / 1000));
  return std::min(static_cast<int64_t>(whole_us * 1000 + amount % rate * 1000 / rate), kMostNs);
}

uint64_t elements(const Graph& graph, TensorId tensor) {
  uint64_t count = 1;
  for (const int64_t extent : graph.shape(tensor)) count *= static_cast<uint64_t>(extent);
  return count;
}

bool reads_blocks(const Graph& graph, NodeId node) {
  return std::ranges::any_of(graph.node_inputs(node),
                             [&](TensorId input) { return input != kNone && !is_plain(graph.dtype(input)); });
}

uint64_t output_elements(const Graph& graph, NodeId node) {
  uint64_t count = 0;
  for (const TensorId output : graph.node_outputs(node))
    if (output != kNone) count = std::max(count, elements(graph, output));
  return count;
}

}  // namespace

OpClass op_class(const Graph& graph, NodeId node) {
  switch (graph.node(node).op) {
    case BP_OP_CONV:
    case BP_OP_CONV_TRANSPOSE:
    case BP_OP_CONV_INTEGER:
    case BP_OP_QLINEAR_CONV:
      return OpClass::convolution;
    case BP_OP_ATTENTION:
    case BP_OP_LSTM:
    case BP_OP_GRU:
    case BP_OP_RNN:
      return OpClass::attention;
    case BP_OP_QLINEAR_MATMUL:
    case BP_OP_MATMUL_INTEGER:
      return OpClass::quantised_matmul;
    default:
      break;
  }
  const uint32_t family = graph.node(node).op >> 8;  // ops.def spaces families apart
  if (family == BP_OP_MATMUL >> 8) return reads_blocks(graph, node) ? OpClass::quantised_matmul : OpClass::matmul;
  if (family == BP_OP_COPY >> 8) return OpClass::movement;
  return graph.node(node).op >= BP_NAMED_BASE ? OpClass::attention : OpClass::elementwise;
}

uint64_t node_bytes(const Graph& graph, NodeId node) {
  uint64_t bytes = 0;
  for (const auto tensors : {graph.node_inputs(node), graph.node_outputs(node)})
    for (const TensorId tensor : tensors)
      if (tensor != kNone) bytes += graph.tensor(tensor).bytes;
  return bytes;
}

// A matrix product does two operations for each element of the output and of the axis that is summed over, a
// convolution for each element of the output and of one filter; the rest is taken as eight for each element.
uint64_t node_flops(const Graph& graph, NodeId node) {
  const auto inputs = graph.node_inputs(node);
  const uint64_t outputs = output_elements(graph, node);
  switch (op_class(graph, node)) {
    case OpClass::matmul:
    case OpClass::quantised_matmul: {
      const auto shape = inputs.empty() || inputs[0] == kNone ? std::span<const int64_t>() : graph.shape(inputs[0]);
      return 2 * outputs * (shape.empty() ? 1 : static_cast<uint64_t>(shape.back()));
    }
    case OpClass::convolution: {
      if (inputs.size() < 2 || inputs[1] == kNone || graph.shape(inputs[1]).empty()) return 2 * outputs;
      const auto filters = static_cast<uint64_t>(std::max<int64_t>(graph.shape(inputs[1])[0], 1));
      return 2 * outputs * (elements(graph, inputs[1]) / filters);
    }
    case OpClass::attention: {
      // Each element of the output depends on a row of the largest operand.
      uint64_t largest = 1;
      for (const TensorId input : inputs)
        if (input != kNone && !graph.shape(input).empty())
          largest = std::max(largest, static_cast<uint64_t>(graph.shape(input).back()));
      return 4 * outputs * largest;
    }
    case OpClass::elementwise:
      return 8 * outputs;
    case OpClass::movement:
      return 0;
  }
  return 0;
}

bool is_heavy(const Graph& graph, NodeId node) {
  const OpClass kind = op_class(graph, node);
  return (kind != OpClass::elementwise && kind != OpClass::movement) || node_bytes(graph, node) > kLightBytes;
}

DeviceCosts default_costs(uint32_t device_type) {
  DeviceCosts costs;
  if (device_type == BP_DEVICE_CPU) {
    costs.launch_ns = 500;
    costs.split_ns = 2'000;
    costs.link_latency_ns = 0;
    costs.link_bytes_per_us = 20'000;
    costs.bytes_per_us = 20'000;
    costs.flops_per_us = {100'000, 100'000, 50'000, 50'000, 20'000, 20'000};
  } else {
    const int64_t scale = device_type == BP_DEVICE_GPU ? 4 : 1;
    costs.bytes_per_us = 100'000 * scale;
    costs.flops_per_us = {2'000'000 * scale, 2'000'000 * scale, 1'000'000 * scale,
                          1'000'000 * scale, 200'000 * scale,   200'000 * scale};
  }
  return costs;
}

CostModel CostModel::communication(uint32_t device_count) {
  CostModel model;
  model.devices_.resize(device_count);
  return model;
}

int64_t CostModel::node_ns(const Graph& graph, NodeId node, uint32_t device) const {
  if (!nodes_cost_) return 0;
  const DeviceCosts& costs = devices_[device];
  const int64_t flops = costs.flops_per_us[static_cast<size_t>(op_class(graph, node))];
  const int64_t work =
      std::max(time_ns(node_flops(graph, node), flops), time_ns(node_bytes(graph, node), costs.bytes_per_us));
  return std::min(costs.launch_ns + work, kMostNs);
}

int64_t CostModel::copy_ns(uint64_t bytes, uint32_t from, uint32_t to) const {
  const DeviceCosts &a = devices_[from], &b = devices_[to];
  if (!nodes_cost_) return a.link_latency_ns + time_ns(bytes, a.link_bytes_per_us);
  return std::min(
      a.link_latency_ns + b.link_latency_ns + time_ns(bytes, a.link_bytes_per_us) + time_ns(bytes, b.link_bytes_per_us),
      kMostNs);
}

}  // namespace backplane
