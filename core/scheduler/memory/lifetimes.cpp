#include "scheduler/memory/lifetimes.hpp"

#include <algorithm>

#include "scheduler/plan/task_accesses.hpp"

namespace backplane {
namespace {

class Finder {
 public:
  Finder(const SplitInput& input, const SplitResult& cut, const TaskGraph& tasks)
      : graph_(input.graph),
        order_(input.order),
        cut_(cut),
        tasks_(tasks),
        lives_(cut.instances.size()),
        device_count_(input.capability.device_count()) {}

  std::vector<Lifetime> find() {
    count_ticks();
    if (!tasks_.sequential) collect_lanes();
    for (uint32_t task = 0; task < tasks_.tasks.size(); ++task) visit(task);
    if (!tasks_.sequential)
      for (uint32_t instance = 0; instance < lives_.size(); ++instance) lengthen(instance);
    return std::move(lives_);
  }

 private:
  // The last use of an instance by a device that does not own its memory.
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
    lanes_.resize(device_count_);
    first_use_.assign(lives_.size(), kNone);
    first_foreign_.assign(lives_.size(), kNone);
    for (uint32_t task = 0; task < tasks_.tasks.size(); ++task) lanes_[tasks_.tasks[task].device].push_back(task);
  }

  void use(uint32_t instance, uint32_t task, uint32_t at) {
    Lifetime& life = lives_[instance];
    if (life.first == kNone) life.first = at;
    const uint32_t device = tasks_.tasks[task].device;
    if (tasks_.sequential || device == owner(instance)) life.last = std::max(life.last, at);
    if (tasks_.sequential) return;
    if (first_use_[instance] == kNone) first_use_[instance] = task;
    if (device == owner(instance)) return;
    for (uint32_t i = first_foreign_[instance]; i != kNone; i = foreign_[i].next)
      if (tasks_.tasks[foreign_[i].task].device == device) {
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

  // Up to the first task of the owner that comes after the uses by others. Memory that somebody else than its owner may
  // be the first to write is not given on at all.
  void lengthen(uint32_t instance) {
    if (first_foreign_[instance] == kNone) return;
    Lifetime& life = lives_[instance];
    const uint32_t device = owner(instance);
    if (tasks_.tasks[first_use_[instance]].device != device) {
      life = {0, ticks_};
      return;
    }
    for (uint32_t i = first_foreign_[instance]; i != kNone; i = foreign_[i].next) {
      const Task& use = tasks_.tasks[foreign_[i].task];
      const auto after = std::ranges::partition_point(
          lanes_[device], [&](uint32_t task) { return tasks_.clocks.done(task, use.device) <= use.rank; });
      if (after == lanes_[device].end()) {
        life.last = ticks_;
        return;
      }
      life.last = std::max(life.last, begins_[*after] - 1);  // not the first task: it comes after another
    }
  }

  const Graph& graph_;
  const std::span<const NodeId> order_;
  const SplitResult& cut_;
  const TaskGraph& tasks_;
  std::vector<Lifetime> lives_;
  const uint32_t device_count_;
  std::vector<uint32_t> begins_;  // by task: its first tick
  uint32_t ticks_ = 0;
  std::vector<std::vector<uint32_t>> lanes_;  // by device: its tasks
  std::vector<uint32_t> first_use_;           // by instance: a task
  std::vector<uint32_t> first_foreign_;       // by instance: into foreign_
  std::vector<ForeignUse> foreign_;
};

}  // namespace

std::vector<Lifetime> find_lifetimes(const SplitInput& input, const SplitResult& cut, const TaskGraph& graph) {
  return Finder(input, cut, graph).find();
}

}  // namespace backplane
