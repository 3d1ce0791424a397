// RunState: one run in flight: its number, what stops it, how it ended.
//
// Thread safety: every function from any thread; begin and end by the one that submits and waits.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "backplane/base/status.hpp"
#include "backplane/graph/types.hpp"
#include "backplane/scheduler/session.hpp"

namespace backplane {

// A failure after which other devices may take over.
struct Setback {
  enum class Kind {
    none,
    refused,       // a device took a split in the query and then refused it
    refused_late,  // the same while it ran in the background; which split it was is not known
    lost,          // a device is gone
    no_memory,     // a device's memory does not suffice
  };
  Kind kind = Kind::none;
  uint32_t device = kNone;
  uint32_t split = kNone;  // of a refusal
};

// What a failure of a device means. `split` is the split that it was given, or kNone.
Setback setback_of(const Status& status, uint32_t device, uint32_t split);

class RunState {
 public:
  using Clock = std::chrono::steady_clock;

  void begin(uint64_t number, bp_run_id id, const RunOptions& options, uint32_t lanes, bool step_by_step) {
    const std::lock_guard lock(mutex_);
    active_ = true;
    number_ = number;
    id_ = id;
    trace_ = options.trace;
    step_by_step_ = step_by_step || trace_ != nullptr;
    begun_ = ended_ = Clock::now();
    status_ = {};
    setback_ = {};
    lanes_left_ = lanes;
    stopped_.store(false, std::memory_order_relaxed);
    state_written_.store(false, std::memory_order_relaxed);
    saved_.store(0, std::memory_order_relaxed);
  }

  uint64_t number() const { return number_; }
  bp_run_id id() const { return id_; }
  Trace* trace() const { return trace_; }
  // Whether each device finishes a task before it begins the next.
  bool step_by_step() const { return step_by_step_; }
  Clock::time_point begun() const { return begun_; }

  // The first failure stays.
  void fail(Status status, Setback setback = {}) {
    const std::lock_guard lock(mutex_);
    if (status_.ok()) {
      status_ = std::move(status);
      setback_ = setback;
    }
    stopped_.store(true, std::memory_order_release);
  }
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }
  Setback setback() const {
    const std::lock_guard lock(mutex_);
    return setback_;
  }

  // Fails the run, if it is still in flight, and calls tell(id, number) while it is.
  template <class Tell>
  void stop(Status status, const Tell& tell) {
    const std::lock_guard lock(mutex_);
    if (!active_) return;
    if (status_.ok()) status_ = std::move(status);
    stopped_.store(true, std::memory_order_release);
    tell(id_, number_);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    active_ = false;
  }

  // A task that writes a state has begun: the run cannot be done again.
  void note_state_written() { state_written_.store(true, std::memory_order_relaxed); }
  bool state_written() const { return state_written_.load(std::memory_order_relaxed); }

  // Bytes of planned copies that were not needed.
  void note_saved(uint64_t bytes) { saved_.fetch_add(bytes, std::memory_order_relaxed); }
  uint64_t saved() const { return saved_.load(std::memory_order_relaxed); }

  void lane_done() {
    const std::lock_guard lock(mutex_);
    if (--lanes_left_ != 0) return;
    ended_ = Clock::now();
    all_done_.notify_all();
  }
  // Waits until all lanes have issued all of the run; false if that is not so by the deadline, also if it is so now.
  bool await_lanes(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const auto done = [this] { return lanes_left_ == 0; };
    if (deadline != Clock::time_point::max()) return all_done_.wait_until(lock, deadline, done) && ended_ <= deadline;
    all_done_.wait(lock, done);
    return true;
  }

 private:
  bool active_ = false;
  uint64_t number_ = 0;
  bp_run_id id_ = 0;
  Trace* trace_ = nullptr;
  bool step_by_step_ = false;
  Clock::time_point begun_, ended_;
  std::atomic<bool> stopped_{false}, state_written_{false};
  std::atomic<uint64_t> saved_{0};
  mutable std::mutex mutex_;
  std::condition_variable all_done_;
  uint32_t lanes_left_ = 0;
  Status status_;
  Setback setback_;
};

}  // namespace backplane
