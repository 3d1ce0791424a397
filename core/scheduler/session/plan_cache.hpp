// PlanCache: the executors of the graphs that a session used last.
//
// An entry is found by a graph of the same structure, compared in full. Thread safety: serialised by the caller.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "backplane/graph/graph.hpp"
#include "scheduler/execution/executor.hpp"

namespace backplane {

class PlanCache {
 public:
  // `by_name`: the plan depends on names (pins, locations, states), so that they are compared too.
  PlanCache(size_t capacity, bool by_name) : capacity_(capacity), by_name_(by_name) {}

  // The executor for a graph, which becomes the last used; null if there is none. *plan is the plan for the graph's
  // structure if there is one, also where the executor holds other constants.
  Executor* find(const Graph& graph, std::shared_ptr<const Plan>* plan);
  // Keeps an executor as the last used. What is too much is let go of: the least used.
  Executor* insert(std::unique_ptr<Executor> executor);
  // Makes an executor the last used.
  void touch(const Executor* executor);
  // Takes out what would have to make room for one more, but never `in_use`; null if there is room.
  std::unique_ptr<Executor> make_room(const Executor* in_use);
  // Takes an executor out.
  std::unique_ptr<Executor> take(const Executor* executor);
  // Lets go of those that use a device, but not of `in_use`.
  void erase_users(uint32_t device, const Executor* in_use);

 private:
  bool fits(const Graph& a, const Graph& b) const;

  size_t capacity_;
  bool by_name_;
  std::list<std::unique_ptr<Executor>> entries_;  // the last used first
};

}  // namespace backplane
