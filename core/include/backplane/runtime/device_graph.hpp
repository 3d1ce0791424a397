// DeviceGraph: a graph with memory of its own for every tensor on one device: to run nodes one by one, to look at what
// each gives, and to take the graph with all its data to another device.
//
// No memory is shared between tensors, so every value stays until its node runs again; a Session needs far less.
// Ownership: shares the graph; the device's Runtime outlives it. Moving it leaves its memory where it is.
// Thread safety: calls are serialised by the caller.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/graph/graph.hpp"
#include "backplane/graph/subgraph.hpp"
#include "backplane/runtime/multi_buffer.hpp"
#include "backplane/runtime/placed_tensor.hpp"

namespace backplane {

class DeviceGraph {
 public:
  // Allocates in the device's default memory and uploads constants; states are zeros, everything else is undefined.
  // Whether the device can run the nodes is not asked. Errors: invalid_argument for a null graph; resource_exhausted
  // naming a tensor larger than the device's largest buffer, before any allocation, or when memory is short.
  static Result<DeviceGraph> make(std::shared_ptr<const Graph> graph, Device& device);
  // The same graph on another device, with the bytes that every tensor has here now. Errors: as make.
  Result<DeviceGraph> copy_to(Device& device) const;

  const Graph& graph() const { return *graph_; }
  Device& device() const { return *device_; }
  uint64_t bytes() const { return weights_.bytes() + values_.bytes(); }

  // Where a tensor or view is, to read and write it; valid while this lives. Errors: out_of_range for no tensor.
  Result<PlacedTensor> tensor(TensorId id) const;
  // Some nodes, in the graph's order, bound to the memory here: ready for Stream::submit. Valid while this lives.
  // REQUIRES: node ids of the graph.
  Subgraph part(std::span<const NodeId> nodes) const;
  // All nodes.
  Subgraph whole() const;

 private:
  DeviceGraph(std::shared_ptr<const Graph> graph, Device& device) : graph_(std::move(graph)), device_(&device) {}
  static Result<DeviceGraph> allocate(std::shared_ptr<const Graph> graph, Device& device);

  std::shared_ptr<const Graph> graph_;
  Device* device_;
  MultiBuffer weights_, values_;
  std::vector<PlacedTensor> roots_;  // by storage
};

}  // namespace backplane
