#include "scheduler/plan/task_graph.hpp"

#include <algorithm>

#include "scheduler/plan/task_accesses.hpp"

namespace backplane {
namespace {

// Beyond this many clock entries (256 MiB) the tasks are put one after another instead.
constexpr uint64_t kMostClockEntries = uint64_t{1} << 26;

class Builder {
 public:
  Builder(const SplitInput& input, const SplitResult& cut)
      : graph_(input.graph),
        order_(input.order),
        cut_(cut),
        task_count_(static_cast<uint32_t>(cut.splits.size() + cut.copies.size())),
        device_count_(input.capability.device_count()),
        lane_count_(count_lanes(input.capability)),
        ordered_(uint64_t{task_count_} * lane_count_ > kMostClockEntries),
        capability_(input.capability),
        accesses_(cut.instances.size()),
        last_task_(lane_count_, kNone),
        split_before_(device_count_, kNone) {
    result_.lane_count = lane_count_;
    result_.clocks = TaskClocks(ordered_ ? 0 : task_count_, lane_count_);
  }

  TaskGraph build() {
    result_.tasks.reserve(task_count_);
    uint32_t copy = 0;
    for (uint32_t split = 0; split < cut_.splits.size(); ++split) {
      for (; copy < cut_.copies.size() && cut_.copies[copy].split == split && !cut_.copies[copy].write_back; ++copy)
        if (!cut_.copies[copy].joined) add_task(true, copy, cut_.copies[copy].to);
      split_before_[cut_.splits[split].device] = last_task_[cut_.splits[split].device];
      add_task(false, split, cut_.splits[split].device);
      for (; copy < cut_.copies.size() && cut_.copies[copy].split == split; ++copy)
        add_task(true, copy, cut_.copies[copy].to);
    }
    result_.sequential = ordered_ || is_sequential();
    if (result_.sequential) result_.clocks = TaskClocks(0, 0);
    return std::move(result_);
  }

 private:
  // The last accesses to one instance that a later one may have to wait for.
  struct Accesses {
    uint32_t writer = kNone;        // a task
    uint32_t first_reader = kNone;  // into readers_, since the last write
  };
  struct Reader {
    uint32_t task;
    uint32_t next;
  };

  static uint32_t count_lanes(const Capability& capability) {
    const uint32_t devices = capability.device_count();
    for (uint32_t device = 0; device < devices; ++device)
      if (capability.copies_beside(device)) return 2 * devices;
    return devices;
  }

  void begin_task(bool is_copy, uint32_t index, uint32_t device) {
    task_ = static_cast<uint32_t>(result_.tasks.size());
    const uint32_t lane = is_copy && capability_.copies_beside(device) ? device + device_count_ : device;
    const uint32_t before = last_task_[lane];
    const uint32_t rank = before == kNone ? 0 : result_.tasks[before].rank + 1;
    const auto waits = static_cast<uint32_t>(result_.waits.size());
    result_.tasks.push_back({is_copy, index, device, lane, rank, waits, 0, 0, 0});
    last_task_[lane] = task_;
    if (ordered_) {
      if (task_ != 0 && result_.tasks[task_ - 1].lane != lane) add_wait(task_ - 1);
      return;
    }
    if (before != kNone)
      for (uint32_t l = 0; l < lane_count_; ++l) result_.clocks.done(task_, l) = result_.clocks.done(before, l);
    result_.clocks.done(task_, lane) = rank + 1;
    // The device's last split may still be running, but not the one before.
    if (lane != device) after(split_before_[device]);
  }

  void add_wait(uint32_t task) {
    result_.waits.push_back(task);
    ++result_.tasks[task_].wait_count;
  }

  void after(uint32_t task) {
    if (ordered_ || task == kNone) return;
    const Task& other = result_.tasks[task];
    if (result_.clocks.done(task_, other.lane) > other.rank) return;
    for (uint32_t l = 0; l < lane_count_; ++l)
      result_.clocks.done(task_, l) = std::max(result_.clocks.done(task_, l), result_.clocks.done(task, l));
    // A wait for an earlier task of the same lane is in this one.
    const uint32_t first = result_.tasks[task_].first_wait;
    for (uint32_t i = first; i < result_.waits.size(); ++i)
      if (result_.tasks[result_.waits[i]].lane == other.lane) {
        result_.waits[i] = task;
        return;
      }
    add_wait(task);
  }

  void read(uint32_t instance) {
    Accesses& accesses = accesses_[instance];
    after(accesses.writer);
    if (accesses.first_reader != kNone && readers_[accesses.first_reader].task == task_) return;
    // One entry for each lane is enough: its later tasks come after its earlier ones.
    for (uint32_t r = accesses.first_reader; r != kNone; r = readers_[r].next)
      if (result_.tasks[readers_[r].task].lane == result_.tasks[task_].lane) {
        readers_[r].task = task_;
        return;
      }
    readers_.push_back({task_, accesses.first_reader});
    accesses.first_reader = static_cast<uint32_t>(readers_.size() - 1);
  }

  void write(uint32_t instance) {
    Accesses& accesses = accesses_[instance];
    after(accesses.writer);
    for (uint32_t r = accesses.first_reader; r != kNone; r = readers_[r].next)
      if (readers_[r].task != task_) after(readers_[r].task);
    accesses = {task_, kNone};
  }

  // Constants are never written, so nothing waits for them.
  void add_task(bool is_copy, uint32_t index, uint32_t device) {
    begin_task(is_copy, index, device);
    const TaskSource source{graph_, order_, cut_.splits, cut_.copies, cut_.home};
    const Task task = result_.tasks.back();
    for_each_access(source, task, [&](const TaskAccess& access) {
      const uint32_t instance = cut_.instance_on(access.storage, access.device);
      access.write ? write(instance) : read(instance);
    });
  }

  bool is_sequential() const {
    for (uint32_t task = 1; task < result_.tasks.size(); ++task) {
      const Task& before = result_.tasks[task - 1];
      if (before.lane != result_.tasks[task].lane && result_.clocks.done(task, before.lane) <= before.rank)
        return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::span<const NodeId> order_;
  const SplitResult& cut_;
  const uint32_t task_count_, device_count_, lane_count_;
  const bool ordered_;  // too many tasks for clocks: each waits for the one before
  const Capability& capability_;
  std::vector<Accesses> accesses_;  // by instance
  std::vector<Reader> readers_;
  std::vector<uint32_t> last_task_;     // by lane
  std::vector<uint32_t> split_before_;  // by device: the task of its last split but one
  uint32_t task_ = 0;                   // the one being made
  TaskGraph result_;
};

}  // namespace

TaskGraph make_task_graph(const SplitInput& input, const SplitResult& cut) { return Builder(input, cut).build(); }

}  // namespace backplane
