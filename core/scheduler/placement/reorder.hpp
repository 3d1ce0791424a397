// Reorder: moves nodes within the list so that those of one device stand together.
//
// List scheduling: stay on a device while it has a ready node, then go to that of the earliest ready node; forwards
// from the inputs and backwards from the outputs. Deterministic. Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/placement/dependencies.hpp"

namespace backplane {

// Changes of device in a list, plus one; 0 for an empty list.
uint32_t count_runs(std::span<const NodeId> order, std::span<const uint32_t> devices);

// What every order of the nodes has at least: a run for each device, and for each change of device on the longest way
// from result to result.
uint32_t least_runs(const Graph& graph, std::span<const uint32_t> devices, uint32_t device_count);

// The bytes of written storages that are alive at once, at most, if nodes run in this order.
uint64_t peak_bytes(const Graph& graph, std::span<const NodeId> order);

// An order with as few runs as are found, that keeps all dependencies and has at most 1.05 times the peak of the list;
// the list itself if none is better. The whole list is looked through at first, and where that takes too much memory
// only the `window` nodes after the first that has not run; 0 = the list itself.
std::vector<NodeId> reorder(const Graph& graph, const Dependencies& dependencies, std::span<const uint32_t> devices,
                            uint32_t device_count, uint32_t window);

}  // namespace backplane
