#include "scheduler/plan/carried_waits.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "scheduler/plan/task_accesses.hpp"

namespace backplane {
namespace {

// Where memory that runs share is: a chunk of an arena, or a state, which counts as a chunk of its own.
struct Area {
  uint32_t pool, chunk;
  auto operator<=>(const Area&) const = default;
};

struct Use {
  uint64_t begin, end;   // bytes
  uint32_t first, last;  // tasks of one lane
};

class Finder {
 public:
  explicit Finder(Plan& plan) : plan_(plan) {}

  void find() {
    for (uint32_t task = 0; task < plan_.tasks.size(); ++task) visit(task);
    for (auto& [area, lanes] : uses_)
      for (const auto& [before, earlier] : lanes)
        for (const auto& [after, later] : lanes)
          if (before != after) connect(earlier, later);
    store();
  }

 private:
  void visit(uint32_t index) {
    for_each_access(tasks_of(plan_), plan_.tasks[index], [&](const TaskAccess& access) { use(access, index); });
  }

  void use(const TaskAccess& access, uint32_t task) {
    const StorageId storage = access.storage;
    const Residence* place = plan_.residence(storage, access.device);
    if (place == nullptr || (plan_.graph->is_constant(storage) && place->pool == kNone)) return;
    if (place->pool != kNone && plan_.pools[place->pool].kind == PoolKind::ports) return;
    const Area area = place->pool == kNone ? Area{kNone, storage} : Area{place->pool, place->chunk};
    std::vector<Use>& uses = uses_[area][plan_.tasks[task].lane];
    const uint64_t end = access.next == kNone
                             ? place->offset + std::max<uint64_t>(plan_.graph->storage(storage).bytes, 1)
                             : plan_.residence(access.next, access.device)->offset;
    const Use fresh{place->offset, end, task, task};
    if (!uses.empty() && uses.back().begin == fresh.begin && uses.back().end == fresh.end)
      uses.back().last = task;
    else
      uses.push_back(fresh);
  }

  // The first task of one lane that touches what another has touched waits for the last one that did.
  void connect(const std::vector<Use>& earlier, const std::vector<Use>& later) {
    uint32_t last = 0, first = kNone;
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const Use& use : earlier) {
      ranges.emplace_back(use.begin, use.end);
      last = std::max(last, use.last);
    }
    std::ranges::sort(ranges);
    std::vector<std::pair<uint64_t, uint64_t>> merged;
    for (const auto& range : ranges)
      if (!merged.empty() && range.first <= merged.back().second)
        merged.back().second = std::max(merged.back().second, range.second);
      else
        merged.push_back(range);
    for (const Use& use : later) {
      const auto next = std::ranges::upper_bound(merged, use.begin, {}, [](const auto& range) { return range.second; });
      if (next != merged.end() && next->first < use.end) first = std::min(first, use.first);
    }
    if (first != kNone) waits_.emplace_back(first, last);
  }

  void store() {
    std::ranges::sort(waits_);
    waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
    size_t next = 0;
    for (uint32_t task = 0; task < plan_.tasks.size(); ++task) {
      plan_.tasks[task].first_carried = static_cast<uint32_t>(plan_.carried_waits.size());
      for (; next < waits_.size() && waits_[next].first == task; ++next) {
        plan_.carried_waits.push_back(waits_[next].second);
        ++plan_.tasks[task].carried_count;
      }
    }
  }

  Plan& plan_;
  std::map<Area, std::map<uint32_t, std::vector<Use>>> uses_;  // by area, lane
  std::vector<std::pair<uint32_t, uint32_t>> waits_;           // (task, task of the run before)
};

}  // namespace

void add_carried_waits(Plan& plan) { Finder(plan).find(); }

}  // namespace backplane
