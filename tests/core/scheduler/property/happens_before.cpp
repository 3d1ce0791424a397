#include "happens_before.hpp"

#include <algorithm>
#include <tuple>

#include "backplane/base/text.hpp"
#include "tensor_words.hpp"

namespace backplane::testing {
namespace {

struct Access {
  std::tuple<uint32_t, uint32_t, uint32_t> memory;  // pool and chunk, or storage and device outside the pools
  ByteRange bytes;
  uint32_t task;
  bool write;
};

// From the begin of the first to the end of the last, with what is between them.
uint64_t joined_bytes(const Plan& plan, std::span<const PlannedCopy> transfer) {
  const PlannedCopy &first = transfer.front(), &last = transfer.back();
  return plan.residence(last.storage, last.to)->offset + last.row_bytes -
         plan.residence(first.storage, first.to)->offset;
}

class Checker {
 public:
  Checker(const Plan& plan, uint32_t runs)
      : plan_(plan), graph_(*plan.graph), task_count_(static_cast<uint32_t>(plan.tasks.size())), runs_(runs) {}

  std::string check() {
    if (std::string fault = order_tasks(); !fault.empty()) return fault;
    for (uint32_t number = 0; number < runs_ * task_count_; ++number) add_task(number);
    std::ranges::stable_sort(accesses_, {},
                             [](const Access& access) { return std::pair(access.memory, access.bytes.begin); });
    for (size_t i = 0; i < accesses_.size(); ++i)
      for (size_t j = i + 1; j < accesses_.size() && meet(accesses_[i], accesses_[j]); ++j)
        if ((accesses_[i].write || accesses_[j].write) && !ordered(accesses_[i].task, accesses_[j].task))
          return cat("tasks ", accesses_[i].task, " and ", accesses_[j].task, " touch bytes [",
                     accesses_[j].bytes.begin, ", ", std::min(accesses_[i].bytes.end, accesses_[j].bytes.end),
                     ") of pool ", static_cast<int64_t>(static_cast<int32_t>(std::get<0>(accesses_[i].memory))),
                     ", and nothing puts them in order");
    return "";
  }

 private:
  static bool meet(const Access& a, const Access& b) { return a.memory == b.memory && b.bytes.begin < a.bytes.end; }

  // Tasks of all runs are numbered through.
  const Task& task_of(uint32_t number) const { return plan_.tasks[number % task_count_]; }

  // By task and lane: the number of that lane's tasks that are done before the task begins.
  std::string order_tasks() {
    const size_t lanes = 2 * plan_.device_names.size();
    std::vector<std::vector<uint32_t>> of_lane(lanes);
    for (uint32_t number = 0; number < runs_ * task_count_; ++number) {
      const Task& task = task_of(number);
      const uint32_t first = number - number % task_count_;  // of its run
      std::vector<uint32_t>& done = done_.emplace_back(lanes, 0);
      if (first == 0 && task.rank != of_lane[task.lane].size()) return cat("task ", number, " has a wrong rank");
      if (!of_lane[task.lane].empty()) join(done, of_lane[task.lane].back());
      for (uint32_t i = task.first_wait; i < task.first_wait + task.wait_count; ++i) {
        if (first + plan_.waits[i] >= number) return cat("task ", number, " waits for a later one");
        join(done, first + plan_.waits[i]);
      }
      for (uint32_t i = task.first_carried; first != 0 && i < task.first_carried + task.carried_count; ++i)
        join(done, first - task_count_ + plan_.carried_waits[i]);
      rank_.push_back(static_cast<uint32_t>(of_lane[task.lane].size()));
      of_lane[task.lane].push_back(number);
    }
    return "";
  }

  void join(std::vector<uint32_t>& done, uint32_t other) const {
    for (size_t lane = 0; lane < done.size(); ++lane) done[lane] = std::max(done[lane], done_[other][lane]);
    done[task_of(other).lane] = std::max(done[task_of(other).lane], rank_[other] + 1);
  }

  bool before(uint32_t a, uint32_t b) const { return done_[b][task_of(a).lane] > rank_[a]; }
  bool ordered(uint32_t a, uint32_t b) const { return a == b || before(a, b) || before(b, a); }

  void add(uint32_t task, StorageId storage, uint32_t device, ByteRange bytes, bool write) {
    const Residence* residence = plan_.residence(storage, device);
    if (residence == nullptr || bytes.begin == bytes.end) return;
    const bool pooled = residence->pool != kNone;
    // Runs have ports of their own.
    const bool port = pooled && plan_.pools[residence->pool].kind == PoolKind::ports;
    const uint32_t slot = port ? task / task_count_ : 0;
    if (pooled) bytes = {bytes.begin + residence->offset, bytes.end + residence->offset};
    accesses_.push_back({pooled ? std::tuple{residence->pool, residence->chunk, slot}
                                : std::tuple{kNone, residence->storage, residence->device},
                         bytes, task, write});
  }

  void add_task(uint32_t number) {
    const Task& task = task_of(number);
    if (task.is_copy) {
      const std::span<const PlannedCopy> transfer = plan_.transfer(task);
      const PlannedCopy& copy = transfer.front();
      ByteRange bytes{copy.offset, copy.offset + (copy.rows - 1) * copy.pitch_bytes + copy.row_bytes};
      if (transfer.size() > 1) bytes.end = joined_bytes(plan_, transfer);
      add(number, copy.storage, copy.from, bytes, false);
      add(number, copy.storage, copy.to, bytes, true);
      return;
    }
    for (const NodeId node : plan_.nodes(plan_.splits[task.index])) {
      for (const TensorId input : graph_.node_inputs(node))
        if (input != kNone) add(number, graph_.storage_of(input), task.device, byte_range(graph_, input), false);
      for (const TensorId output : graph_.node_outputs(node))
        if (output != kNone) add(number, graph_.storage_of(output), task.device, byte_range(graph_, output), true);
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  const uint32_t task_count_, runs_;
  std::vector<std::vector<uint32_t>> done_;
  std::vector<uint32_t> rank_;  // among the tasks of its lane in all runs
  std::vector<Access> accesses_;
};

}  // namespace

std::string check_happens_before(const Plan& plan, uint32_t runs) { return Checker(plan, runs).check(); }

}  // namespace backplane::testing
