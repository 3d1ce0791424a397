// Events: each record makes a new point, which waits and subscriptions hold on to, so that an event may be recorded
// again or destroyed while they are pending. Thread safety: any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backplane/sdk/plugin.hpp"
#include "counters.hpp"

namespace fake {

// How work ended: a code, and a text unless it is BP_OK.
struct Outcome {
  bp_code code = BP_OK;
  std::string message;
};

// Fills `error` from a failed outcome and returns its code.
bp_code report(const Outcome& outcome, bp_error* error, uint32_t flags = 0);

// One recorded point of a stream.
class Point {
 public:
  void complete(Outcome outcome);
  void wait();
  // Returns BP_OK or the error of the work before the point; BP_NOT_READY / BP_E_TIMEOUT while it is pending.
  bp_code query(bp_error* error);
  bp_code wait_for(uint64_t timeout_ns, bp_error* error);
  void subscribe(bp_event_fn fn, void* user);

 private:
  void call(bp_event_fn fn, void* user) const;

  std::mutex mutex_;
  std::condition_variable completed_;
  bool done_ = false;
  Outcome outcome_;
  std::vector<std::pair<bp_event_fn, void*>> subscribers_;
};

class Event final : public backplane::sdk::Event {
 public:
  explicit Event(std::atomic<uint64_t>& live_events) : live_(live_events) {}
  void stand_for(std::shared_ptr<Point> point);
  // Makes the event stand for a new point.
  std::shared_ptr<Point> renew();
  // Returns the latest point. Throws BP_E_STATE if there is none.
  std::shared_ptr<Point> point();

  bp_code query(bp_error* error) override { return point()->query(error); }
  bp_code wait_host(uint64_t timeout_ns, bp_error* error) override { return point()->wait_for(timeout_ns, error); }
  void subscribe(bp_event_fn fn, void* user) override { point()->subscribe(fn, user); }

 private:
  const Live live_;
  std::mutex mutex_;
  std::shared_ptr<Point> point_;
};

// Waits on `condition` until `ready` or the timeout, which may be BP_TIMEOUT_INFINITE. Returns what `ready` says.
bool wait_until_ready(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, uint64_t timeout_ns,
                      const std::function<bool()>& ready);

}  // namespace fake
