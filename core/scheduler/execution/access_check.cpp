// How an Executor tells its race checker what its tasks touch.
#include "backplane/base/text.hpp"
#include "scheduler/execution/executor.hpp"
#include "scheduler/plan/region.hpp"
#include "scheduler/plan/task_accesses.hpp"

namespace backplane {
namespace {

class AccessList {
 public:
  AccessList(const Plan& plan, const BoundMemory& memory, uint32_t slot) : plan_(plan), memory_(memory), slot_(slot) {}

  void add(StorageId storage, uint32_t device, uint64_t offset, uint64_t bytes, bool write) {
    const Residence* place = plan_.residence(storage, device);
    if (place == nullptr || bytes == 0) return;
    const Spot spot = memory_.spot(*place, slot_);
    list_.push_back({spot.buffer, spot.offset + offset, bytes, write});
  }
  void add(TensorId tensor, uint32_t device, bool write) {
    const Region region = region_of(*plan_.graph, tensor);
    add(plan_.graph->storage_of(tensor), device, region.offset, region.extent(), write);
  }
  void add_task(const Task& task) {
    for_each_access(tasks_of(plan_), task, [&](const TaskAccess& access) {
      if (access.tensor != kNone) add(access.tensor, access.device, access.write);
      if (access.next != kNone) add_to_next(access);
    });
    if (!task.is_copy) return;
    for (const PlannedCopy& copy : plan_.transfer(task)) add_rows(copy);
  }
  std::span<const MemoryAccess> list() const { return list_; }

 private:
  void add_to_next(const TaskAccess& access) {
    const uint64_t begin = plan_.residence(access.storage, access.device)->offset;
    const uint64_t end = plan_.residence(access.next, access.device)->offset;
    add(access.storage, access.device, 0, end - begin, access.write);
  }
  void add_rows(const PlannedCopy& copy) {
    for (uint64_t row = 0; row < copy.rows; ++row) {
      const uint64_t offset = copy.offset + row * copy.pitch_bytes;
      add(copy.storage, copy.from, offset, copy.row_bytes, /*write=*/false);
      add(copy.storage, copy.to, offset, copy.row_bytes, /*write=*/true);
    }
  }

  const Plan& plan_;
  const BoundMemory& memory_;
  uint32_t slot_;
  std::vector<MemoryAccess> list_;
};

}  // namespace

// A run is submitted only after the one `depth` before it was waited for.
void Executor::join_finished_runs(uint32_t lane, uint64_t number) {
  if (races_ == nullptr || number < depth()) return;
  for (uint32_t other = 0; other < lanes_.size(); ++other)
    if (other != lane && lanes_[other] != nullptr)
      races_->join(lane, other, (number - depth() + 1) * lanes_[other]->task_count());
}

Status Executor::check_accesses(uint32_t index, const RunState& run) {
  if (races_ == nullptr) return {};
  const Task& task = plan_->tasks[index];
  AccessList accesses(*plan_, memory_, slot(run.number()));
  accesses.add_task(task);
  const uint64_t tick = run.number() * lanes_[task.lane]->task_count() + task.rank + 1;
  const auto race = races_->access(task.lane, tick, accesses.list(), task_text(task));
  return race ? internal_error(cat("a race, which is a fault of the scheduler: ", *race), "session.race") : Status();
}

}  // namespace backplane
