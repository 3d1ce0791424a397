#include "scheduler/execution/lane.hpp"

#include <thread>

namespace backplane {
namespace {

// Looks before sleeping: a short task is over sooner than a thread is woken.
constexpr int kLooks = 200;

}  // namespace

Result<std::unique_ptr<Lane>> Lane::make(Device& device, uint32_t tasks, uint32_t slots) {
  std::unique_ptr<Lane> lane(new Lane(device));
  BP_TRY_ASSIGN(lane->stream_, device.create_stream());
  lane->task_count_ = tasks;
  lane->async_ = device.has(BP_CAP_ASYNC);
  lane->events_ = device.has(BP_CAP_EVENTS);
  lane->slots_ = slots;
  return lane;
}

Status Lane::make_events(uint32_t rank) {
  events_made_.resize(slots_ * (task_count_ + 1));
  for (size_t slot = 0; slot < slots_; ++slot) {
    std::unique_ptr<Event>& event = events_made_[slot * (task_count_ + 1) + rank];
    if (event != nullptr) continue;
    BP_TRY_ASSIGN(Event made, device_.create_event());
    event = std::make_unique<Event>(std::move(made));
  }
  return {};
}

void Lane::await_issued(uint64_t count) const {
  for (int look = 0; look < kLooks; ++look) {
    if (issued() >= count) return;
    std::this_thread::yield();
  }
  for (uint64_t seen = issued(); seen < count; seen = issued()) issued_.wait(seen, std::memory_order_acquire);
}

}  // namespace backplane
