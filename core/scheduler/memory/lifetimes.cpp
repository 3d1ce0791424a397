#include "scheduler/memory/lifetimes.hpp"

#include <algorithm>

#include "scheduler/plan/task_accesses.hpp"

namespace backplane {
namespace {

class Finder {
 public:
  Finder(const SplitInput& input, const SplitResult& cut, const TaskGraph& tasks)
      : graph_(input.graph), order_(input.order), cut_(cut), tasks_(tasks), lives_(cut.instances.size()) {}

  std::vector<Lifetime> find() {
    count_ticks();
    if (!tasks_.sequential) collect_lanes();
    for (uint32_t task = 0; task < tasks_.tasks.size(); ++task) visit(task);
    if (!tasks_.sequential)
      for (uint32_t instance = 0; instance < lives_.size(); ++instance) lengthen(instance);
    return std::move(lives_);
  }

 private:
  // The last use of an instance by a lane that does not own its memory. A device's first lane owns what is there.
  struct ForeignUse {
    uint32_t task;
    uint32_t next;
  };

  uint32_t owner(uint32_t instance) const {
    return cut_.instances.is_home(instance) ? cut_.home[instance] : cut_.instances.device(instance);
  }

  // Every copy and every node takes one tick.
  void count_ticks() {
    begins_.reserve(tasks_.tasks.size());
    for (const Task& task : tasks_.tasks) {
      begins_.push_back(ticks_);
      ticks_ += task.is_copy ? 1 : cut_.splits[task.index].node_count;
    }
  }

  void collect_lanes() {
    lanes_.resize(tasks_.lane_count);
    first_use_.assign(lives_.size(), kNone);
    first_foreign_.assign(lives_.size(), kNone);
    for (uint32_t task = 0; task < tasks_.tasks.size(); ++task) lanes_[tasks_.tasks[task].lane].push_back(task);
  }

  void use(uint32_t instance, uint32_t task, uint32_t at) {
    Lifetime& life = lives_[instance];
    if (life.first == kNone) life.first = at;
    const uint32_t lane = tasks_.tasks[task].lane;
    if (tasks_.sequential || lane == owner(instance)) life.last = std::max(life.last, at);
    if (tasks_.sequential) return;
    if (first_use_[instance] == kNone) first_use_[instance] = task;
    if (lane == owner(instance)) return;
    for (uint32_t i = first_foreign_[instance]; i != kNone; i = foreign_[i].next)
      if (tasks_.tasks[foreign_[i].task].lane == lane) {
        foreign_[i].task = task;
        return;
      }
    foreign_.push_back({task, first_foreign_[instance]});
    first_foreign_[instance] = static_cast<uint32_t>(foreign_.size() - 1);
  }

  void visit(uint32_t index) {
    const TaskSource source{graph_, order_, cut_.splits, cut_.copies, cut_.home};
    for_each_access(source, tasks_.tasks[index], [&](const TaskAccess& access) {
      use(cut_.instance_on(access.storage, access.device), index, begins_[index] + access.tick);
    });
  }

  // Up to the first task of the owner that comes after the uses by others. Memory that another device than its owner
  // may be the first to write is not given on at all.
  void lengthen(uint32_t instance) {
    if (first_foreign_[instance] == kNone) return;
    Lifetime& life = lives_[instance];
    const uint32_t device = owner(instance);
    const Task& first = tasks_.tasks[first_use_[instance]];
    if (first.device != device) {
      life = {0, ticks_, true};
      return;
    }
    if (first.lane != device) life.first = std::min(life.first, first_tick_beside(first_use_[instance], device));
    for (uint32_t i = first_foreign_[instance]; i != kNone; i = foreign_[i].next) {
      const Task& use = tasks_.tasks[foreign_[i].task];
      const auto after = std::ranges::partition_point(
          lanes_[device], [&](uint32_t task) { return tasks_.clocks.done(task, use.lane) <= use.rank; });
      // Not the first task: it comes after another.
      const uint32_t end = after == lanes_[device].end() ? ticks_ : begins_[*after] - 1;
      life.lengthened |= end >= life.last;
      life.last = std::max(life.last, end);
    }
  }

  // When a copy that goes on beside the tasks of its device may begin: during the first of these that it does not wait
  // for. A tick less, as what ends just before that task may end at its begin only.
  uint32_t first_tick_beside(uint32_t copy, uint32_t device) const {
    const uint32_t known = tasks_.clocks.done(copy, device);
    if (known >= lanes_[device].size()) return ticks_;
    const uint32_t tick = begins_[lanes_[device][known]];
    return tick == 0 ? 0 : tick - 1;
  }

  const Graph& graph_;
  const std::span<const NodeId> order_;
  const SplitResult& cut_;
  const TaskGraph& tasks_;
  std::vector<Lifetime> lives_;
  std::vector<uint32_t> begins_;  // by task: its first tick
  uint32_t ticks_ = 0;
  std::vector<std::vector<uint32_t>> lanes_;  // by lane: its tasks
  std::vector<uint32_t> first_use_;           // by instance: a task
  std::vector<uint32_t> first_foreign_;       // by instance: into foreign_
  std::vector<ForeignUse> foreign_;
};

}  // namespace

std::vector<Lifetime> find_lifetimes(const SplitInput& input, const SplitResult& cut, const TaskGraph& graph) {
  return Finder(input, cut, graph).find();
}

}  // namespace backplane
