#include "scheduler/session/plan_cache.hpp"

#include <algorithm>

#include "graph/structural_equality.hpp"

namespace backplane {
namespace {

bool has_states(const Graph& graph) {
  for (StorageId storage = 0; storage < graph.storage_count(); ++storage)
    if ((graph.storage(storage).flags & BP_TENSOR_STATE) != 0) return true;
  return false;
}

bool uses(const Plan& plan, uint32_t device) {
  return std::ranges::any_of(plan.residences, [&](const Residence& r) { return r.device == device; });
}

}  // namespace

bool PlanCache::fits(const Graph& a, const Graph& b) const {
  return same_structure(a, b) && (!(by_name_ || has_states(a)) || same_names(a, b));
}

Executor* PlanCache::find(const Graph& graph, std::shared_ptr<const Plan>* plan) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    const std::shared_ptr<const Plan>& found = (*entry)->plan();
    if (!fits(*found->graph, graph)) continue;
    *plan = found;
    if (!same_constants(*found->graph, graph)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front().get();
  }
  return nullptr;
}

Executor* PlanCache::insert(std::unique_ptr<Executor> executor) {
  entries_.push_front(std::move(executor));
  while (entries_.size() > std::max<size_t>(capacity_, 1)) entries_.pop_back();
  return entries_.front().get();
}

void PlanCache::touch(const Executor* executor) {
  const auto entry = std::ranges::find_if(entries_, [&](const auto& e) { return e.get() == executor; });
  if (entry != entries_.end()) entries_.splice(entries_.begin(), entries_, entry);
}

std::unique_ptr<Executor> PlanCache::make_room(const Executor* in_use) {
  if (entries_.size() < std::max<size_t>(capacity_, 1) || entries_.back().get() == in_use) return nullptr;
  return take(entries_.back().get());
}

std::unique_ptr<Executor> PlanCache::take(const Executor* executor) {
  const auto entry = std::ranges::find_if(entries_, [&](const auto& e) { return e.get() == executor; });
  if (entry == entries_.end()) return nullptr;
  std::unique_ptr<Executor> taken = std::move(*entry);
  entries_.erase(entry);
  return taken;
}

void PlanCache::erase_users(uint32_t device, const Executor* in_use) {
  std::erase_if(entries_, [&](const auto& entry) { return entry.get() != in_use && uses(*entry->plan(), device); });
}

}  // namespace backplane
