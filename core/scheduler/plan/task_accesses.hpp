// Task accesses: what a task reads and writes, in order. One place, so that waits, lifetimes and checks agree.
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <span>

#include "backplane/scheduler/plan.hpp"

namespace backplane {

struct TaskAccess {
  StorageId storage;
  uint32_t device;  // which looks for it: where its own copy is, if it has one, else at home
  TensorId tensor;  // of the storage; kNone = what a copy carries
  bool write;
  uint32_t tick;           // within the task: 0 for a copy, the number of the node within a split
  StorageId next = kNone;  // what is between this storage's place and that one's is touched too: joined copies
};

// The parts of a plan that say so, also of one that is being made.
struct TaskSource {
  const Graph& graph;
  std::span<const NodeId> order;
  std::span<const Split> splits;
  std::span<const PlannedCopy> copies;
  std::span<const uint32_t> homes;  // by storage
};

// Calls visit(TaskAccess) for each.
template <class Visit>
void for_each_access(const TaskSource& source, const Task& task, const Visit& visit) {
  const Graph& graph = source.graph;
  if (task.is_copy) {
    const std::span<const PlannedCopy> transfer = transfer_at(source.copies, task.index);
    for (size_t i = 0; i < transfer.size(); ++i) {
      const PlannedCopy& copy = transfer[i];
      const StorageId next = i + 1 < transfer.size() ? transfer[i + 1].storage : kNone;
      visit(TaskAccess{copy.storage, copy.from, kNone, false, 0, next});
      // The host reads indices at their home; those that are constants are in nobody's memory.
      if (copy.indices != kNone && !graph.is_constant(graph.storage_of(copy.indices))) {
        const StorageId indices = graph.storage_of(copy.indices);
        visit(TaskAccess{indices, source.homes[indices], copy.indices, false, 0});
      }
      visit(TaskAccess{copy.storage, copy.to, kNone, true, 0, next});
    }
    return;
  }
  const Split& split = source.splits[task.index];
  for (uint32_t i = 0; i < split.node_count; ++i) {
    const NodeId node = source.order[split.first_node + i];
    for (const TensorId input : graph.node_inputs(node))
      if (input != kNone) visit(TaskAccess{graph.storage_of(input), split.device, input, false, i});
    for (const TensorId output : graph.node_outputs(node))
      if (output != kNone) visit(TaskAccess{graph.storage_of(output), split.device, output, true, i});
  }
}

inline TaskSource tasks_of(const Plan& plan) { return {*plan.graph, plan.order, plan.splits, plan.copies, plan.homes}; }

}  // namespace backplane
