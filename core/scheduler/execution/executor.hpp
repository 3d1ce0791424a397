// Executor: one plan, ready to run: its memory, compiled splits, lanes, and the running of them.
//
// A plan whose tasks cannot overlap is run by the calling thread; otherwise each lane has a thread that issues its
// tasks in order, so that a device that blocks never holds up another. After a run has ended, however it did, no device
// works on it any more.
// Ownership: borrows devices and runtime, shares buffers. Thread safety: serialised by the caller, but for `cancel`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/runtime/runtime.hpp"
#include "backplane/scheduler/plan.hpp"
#include "scheduler/execution/bound_copy.hpp"
#include "scheduler/execution/bound_memory.hpp"
#include "scheduler/execution/compiled_split.hpp"
#include "scheduler/execution/lane.hpp"
#include "scheduler/execution/memory_guard.hpp"
#include "scheduler/execution/race_checker.hpp"
#include "scheduler/execution/run_state.hpp"
#include "scheduler/memory/session_memory.hpp"

namespace backplane {

class Executor {
 public:
  struct Input {
    Runtime& runtime;
    std::shared_ptr<const Plan> plan;
    const std::vector<Device*>& devices;
    SessionMemory& memory;
    uint32_t depth = 1;
    Executor* donor = nullptr;  // gives its programs to splits of the same nodes; not to be run any more then
    bool check_races = false;   // as SessionOptions::check_races
    bool guard_memory = false;  // as SessionOptions::debug_memory; the plan has separate memory, the depth is 1
  };
  // Allocates, uploads constants and compiles. On a failure that other devices could make good *setback says so.
  static Result<std::unique_ptr<Executor>> make(const Input& input, Setback* setback);
  ~Executor();

  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  uint32_t depth() const { return memory_.depth(); }
  // To be called before runs when another executor of the session has run: takes over states and grown arenas.
  Status activate(SessionMemory& memory);

  // Bytes of a storage at its home, `offset` bytes into it. Storages without memory are nobody's: nothing happens.
  Status write(StorageId storage, uint32_t slot, uint64_t offset, std::span<const std::byte> bytes);
  Status read(StorageId storage, uint32_t slot, uint64_t offset, std::span<std::byte> bytes);
  // As read, where kernels of `device` find the storage.
  Status read_on(uint32_t device, StorageId storage, uint32_t slot, std::span<std::byte> bytes);

  // Starts a run and returns its number; they are counted from 0, and `slot` of a number is its place in the memory.
  // The run may be over when this returns. `step_by_step`: each device finishes a task before it begins the next, so
  // that it is known which one fails. REQUIRES: fewer than depth are in flight.
  uint64_t submit(const RunOptions& options, bool step_by_step = false);
  uint32_t slot(uint64_t number) const { return static_cast<uint32_t>(number % depth()); }
  // The slot that the next run will have.
  uint32_t next_slot() const { return slot(next_number_); }
  // Waits for the end of a run; says how it ended, and what may be made good.
  Status wait(uint64_t number, const RunOptions& options, Setback* setback);
  // Whether a run of those that were in flight has written a state.
  bool has_written_state(uint64_t number) const { return runs_[slot(number)]->state_written(); }
  uint64_t saved_bytes(uint64_t number) const { return runs_[slot(number)]->saved(); }
  RunState::Clock::time_point begun(uint64_t number) const { return runs_[slot(number)]->begun(); }
  // Runs on the calling thread; after each split is done, `after_split` is called, whose failure ends the run. To be
  // waited for like any other. REQUIRES: nothing is in flight.
  uint64_t run_observed(const RunOptions& options, const std::function<Status(uint32_t split)>& after_split);

  // Asks the runs in flight to stop.
  void cancel();

 private:
  explicit Executor(const Input& input);
  void assign_tasks();
  Status make_lanes(Setback* setback);
  Status make_lane(uint32_t number);
  Status make_splits(Executor* donor, Setback* setback);
  Status bind();
  void make_copies();

  RunState& begin_run(const RunOptions& options, bool step_by_step);
  void start_threads();
  void stop_threads();
  void serve(uint32_t number_of_lane);
  void run_lane(Lane& lane, std::span<const uint32_t> tasks, RunState& run);
  void run_here(RunState& run, const std::function<Status(uint32_t)>* after_split);
  // One task, after what it waits for. Failures go to `run`.
  void execute(Lane& lane, uint32_t task, RunState& run);
  Status issue(Lane& lane, uint32_t task, RunState& run);
  Status issue_alone(Lane& lane, uint32_t task, RunState& run);
  // Failures of others go to `run`.
  Status await_others(Lane& lane, const Task& task, RunState& run);
  Status await_task(Lane& lane, const Task& task, const Task& other, uint64_t number, RunState& run);
  Status signal(Lane& lane, uint32_t task, uint64_t number);
  Status end_lane(Lane& lane, uint64_t number);
  Status finish_lane(Lane& lane, const RunState& run, uint64_t timeout_ns);
  // `task`: null if it is not known which one of the device's has failed.
  void fail(RunState& run, uint32_t device, const Task* task, const Status& status);
  void stop(RunState& run, Status status);
  void break_from(uint64_t number);
  void drain();
  std::string task_text(const Task& task) const;
  // Both do nothing without a race checker.
  void join_finished_runs(uint32_t lane, uint64_t number);
  Status check_accesses(uint32_t task, const RunState& run);
  uint32_t device_of(uint32_t lane) const { return lane % static_cast<uint32_t>(devices_.size()); }
  bool threaded() const { return !threads_.empty(); }
  uint32_t event_slot(uint64_t number) const { return static_cast<uint32_t>(number % (depth() + 1)); }

  Runtime& runtime_;
  const std::shared_ptr<const Plan> plan_;
  const std::vector<Device*> devices_;
  BoundMemory memory_;
  std::vector<std::unique_ptr<Lane>> lanes_;       // as Task::lane numbers them; null = no tasks
  std::vector<std::vector<uint32_t>> lane_tasks_;  // by lane
  uint32_t lane_count_ = 0;                        // that are not null
  std::vector<CompiledSplit> splits_;
  std::vector<BoundCopy> copies_;
  std::vector<std::vector<std::byte>> staging_;  // by device
  std::vector<uint8_t> signals_;                 // by task: another lane waits for it
  std::vector<uint8_t> writes_state_;            // by task
  std::vector<std::unique_ptr<RunState>> runs_;  // by slot
  std::unique_ptr<RaceChecker> races_;           // null = not wanted
  std::unique_ptr<MemoryGuard> guard_;           // null = not wanted
  uint64_t next_number_ = 0;
  std::vector<std::thread> threads_;
  std::atomic<uint64_t> submitted_{0};  // runs handed to the threads; counts one more when closing
  std::atomic<uint64_t> finished_{0};   // runs that were waited for
  std::atomic<bool> closing_{false};
  std::atomic<uint64_t> broken_from_{UINT64_MAX};  // the first run that failed: those behind it are not begun
};

}  // namespace backplane
