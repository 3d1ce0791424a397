// Lane: work of one device that runs in order: its stream, how far it has come, and events that others wait for.
//
// Tasks of a lane are issued one after another by one thread at a time. On a device that works in the background a task
// that was issued need not be done; others then wait for its event, or the lane waits for its stream itself.
// Thread safety: `issued` and `await_issued` from any thread; the rest by the thread that issues.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/runtime/device.hpp"

namespace backplane {

class Lane {
 public:
  // `tasks`: how many of a run are this lane's. `slots`: runs whose events are kept apart. Errors: what the device
  // reports.
  static Result<std::unique_ptr<Lane>> make(Device& device, uint32_t tasks, uint32_t slots);

  Device& device() const { return device_; }
  Stream& stream() { return stream_; }
  uint32_t task_count() const { return task_count_; }
  // Whether a task may go on after it was issued.
  bool is_async() const { return async_; }
  bool has_events() const { return events_; }

  // Makes the event of the lane's task `rank`, for every slot. REQUIRES: has_events().
  Status make_events(uint32_t rank);
  // REQUIRES: make_events(rank) was called before.
  Event& event(uint32_t rank, uint32_t slot) { return *events_made_[slot * (task_count_ + 1) + rank]; }

  // Tasks issued since the lane was made, over all runs.
  uint64_t issued() const { return issued_.load(std::memory_order_acquire); }
  void set_issued(uint64_t count) {
    issued_.store(count, std::memory_order_release);
    issued_.notify_all();
  }
  // Waits until `count` tasks are issued.
  void await_issued(uint64_t count) const;

 private:
  explicit Lane(Device& device) : device_(device) {}

  Device& device_;
  Stream stream_;
  uint32_t task_count_ = 0;
  bool async_ = false, events_ = false;
  size_t slots_ = 1;
  std::vector<std::unique_ptr<Event>> events_made_;  // by slot, rank; the last rank stands for the end of the run
  std::atomic<uint64_t> issued_{0};
};

}  // namespace backplane
