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

class Checker {
 public:
  explicit Checker(const Plan& plan) : plan_(plan), graph_(*plan.graph) {}

  std::string check() {
    if (std::string fault = order_tasks(); !fault.empty()) return fault;
    for (uint32_t task = 0; task < plan_.tasks.size(); ++task) add_task(task);
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

  // By task and device: the number of that device's tasks that are done before the task begins.
  std::string order_tasks() {
    const size_t devices = plan_.device_names.size();
    std::vector<std::vector<uint32_t>> of_device(devices);
    for (uint32_t number = 0; number < plan_.tasks.size(); ++number) {
      const Task& task = plan_.tasks[number];
      std::vector<uint32_t>& done = done_.emplace_back(devices, 0);
      if (task.rank != of_device[task.device].size()) return cat("task ", number, " has a wrong rank");
      if (task.rank != 0) join(done, of_device[task.device].back());
      for (uint32_t i = task.first_wait; i < task.first_wait + task.wait_count; ++i) {
        if (plan_.waits[i] >= number) return cat("task ", number, " waits for a later one");
        join(done, plan_.waits[i]);
      }
      of_device[task.device].push_back(number);
    }
    return "";
  }

  void join(std::vector<uint32_t>& done, uint32_t other) const {
    for (size_t device = 0; device < done.size(); ++device) done[device] = std::max(done[device], done_[other][device]);
    done[plan_.tasks[other].device] = std::max(done[plan_.tasks[other].device], plan_.tasks[other].rank + 1);
  }

  bool before(uint32_t a, uint32_t b) const { return done_[b][plan_.tasks[a].device] > plan_.tasks[a].rank; }
  bool ordered(uint32_t a, uint32_t b) const { return a == b || before(a, b) || before(b, a); }

  void add(uint32_t task, StorageId storage, uint32_t device, ByteRange bytes, bool write) {
    const Residence* residence = plan_.residence(storage, device);
    if (residence == nullptr || bytes.begin == bytes.end) return;
    const bool pooled = residence->pool != kNone;
    if (pooled) bytes = {bytes.begin + residence->offset, bytes.end + residence->offset};
    accesses_.push_back({pooled ? std::tuple{residence->pool, residence->chunk, 0u}
                                : std::tuple{kNone, residence->storage, residence->device},
                         bytes, task, write});
  }

  void add_task(uint32_t number) {
    const Task& task = plan_.tasks[number];
    if (task.is_copy) {
      const PlannedCopy& copy = plan_.copies[task.index];
      const ByteRange bytes{copy.offset, copy.offset + (copy.rows - 1) * copy.pitch_bytes + copy.row_bytes};
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
  std::vector<std::vector<uint32_t>> done_;
  std::vector<Access> accesses_;
};

}  // namespace

std::string check_happens_before(const Plan& plan) { return Checker(plan).check(); }

}  // namespace backplane::testing
