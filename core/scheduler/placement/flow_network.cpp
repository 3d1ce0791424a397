#include "scheduler/placement/flow_network.hpp"

#include <algorithm>

namespace backplane {

namespace {
constexpr uint32_t kNoArc = UINT32_MAX;
}

void FlowNetwork::clear() {
  excess_.clear();
  first_.clear();
  arcs_.clear();
}

uint32_t FlowNetwork::add_node() {
  excess_.push_back(0);
  first_.push_back(kNoArc);
  return node_count() - 1;
}

void FlowNetwork::add_arc(uint32_t from, uint32_t to, int64_t forward, int64_t backward) {
  const auto arc = static_cast<uint32_t>(arcs_.size());
  arcs_.push_back({to, first_[from], forward});
  arcs_.push_back({from, first_[to], backward});
  first_[from] = arc;
  first_[to] = arc + 1;
}

bool FlowNetwork::minimise(int64_t& work) {
  while (find_levels(work)) {
    cursor_ = first_;
    for (const uint32_t node : queue_)
      if (excess_[node] > 0) push_from(node, work);
    if (work <= 0) return false;
  }
  return work > 0;
}

// Whether any source is left that reaches a sink; queue_ is then all that was found, nearest to the sinks first.
bool FlowNetwork::find_levels(int64_t& work) {
  level_.assign(node_count(), 0);
  queue_.clear();
  for (uint32_t node = 0; node < node_count(); ++node)
    if (excess_[node] < 0) {
      level_[node] = 1;
      queue_.push_back(node);
    }
  uint32_t deepest = UINT32_MAX;  // the level of the nearest source
  work -= node_count();
  for (size_t i = 0; i < queue_.size(); ++i) {
    const uint32_t node = queue_[i];
    if (level_[node] > deepest) break;
    if (excess_[node] > 0) deepest = level_[node];
    for (uint32_t a = first_[node]; a != kNoArc; a = arcs_[a].next) {
      --work;
      const uint32_t other = arcs_[a].to;
      if (level_[other] != 0 || arcs_[a ^ 1].room == 0) continue;
      level_[other] = level_[node] + 1;
      queue_.push_back(other);
    }
  }
  return deepest != UINT32_MAX && work > 0;
}

// Sends what `source` has down the levels, until it has nothing more or no way is left.
void FlowNetwork::push_from(uint32_t source, int64_t& work) {
  path_.clear();
  uint32_t node = source;
  while (excess_[source] > 0 && work > 0) {
    if (excess_[node] < 0) {
      push_along_path(source, node);
      path_.clear();
      node = source;
      continue;
    }
    uint32_t& a = cursor_[node];
    while (a != kNoArc && !leads_down(node, arcs_[a])) a = arcs_[a].next, --work;
    --work;
    if (a != kNoArc) {
      path_.push_back(a);
      node = arcs_[a].to;
      continue;
    }
    if (path_.empty()) return;
    node = arcs_[path_.back() ^ 1].to;
    path_.pop_back();
    cursor_[node] = arcs_[cursor_[node]].next;
  }
}

void FlowNetwork::push_along_path(uint32_t source, uint32_t sink) {
  int64_t amount = std::min(excess_[source], -excess_[sink]);
  for (const uint32_t a : path_) amount = std::min(amount, arcs_[a].room);
  for (const uint32_t a : path_) {
    arcs_[a].room -= amount;
    arcs_[a ^ 1].room += amount;
  }
  excess_[source] -= amount;
  excess_[sink] += amount;
}

}  // namespace backplane
