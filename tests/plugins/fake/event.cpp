#include "event.hpp"

#include <algorithm>
#include <chrono>

namespace fake {

using backplane::sdk::Error;

bp_code report(const Outcome& outcome, bp_error* error, uint32_t flags) {
  if (outcome.code >= 0) return outcome.code;
  return backplane::sdk::set_error(error, outcome.code, outcome.message, 0, flags);
}

bool wait_until_ready(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, uint64_t timeout_ns,
                      const std::function<bool()>& ready) {
  if (timeout_ns == BP_TIMEOUT_INFINITE) {
    condition.wait(lock, ready);
    return true;
  }
  // A deadline further off than a day overflows some clocks.
  constexpr uint64_t kDay = 86'400'000'000'000;
  return condition.wait_for(lock, std::chrono::nanoseconds(std::min(timeout_ns, kDay)), ready);
}

void Point::complete(Outcome outcome) {
  std::vector<std::pair<bp_event_fn, void*>> subscribers;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
    outcome_ = std::move(outcome);
    subscribers.swap(subscribers_);
  }
  completed_.notify_all();
  for (const auto& [fn, user] : subscribers) call(fn, user);
}

void Point::wait() {
  std::unique_lock lock(mutex_);
  completed_.wait(lock, [&] { return done_; });
}

bp_code Point::query(bp_error* error) {
  const std::lock_guard lock(mutex_);
  return done_ ? report(outcome_, error) : BP_NOT_READY;
}

bp_code Point::wait_for(uint64_t timeout_ns, bp_error* error) {
  std::unique_lock lock(mutex_);
  if (!wait_until_ready(completed_, lock, timeout_ns, [&] { return done_; }))
    return report({BP_E_TIMEOUT, "the event is still pending"}, error);
  return report(outcome_, error);
}

void Point::subscribe(bp_event_fn fn, void* user) {
  {
    const std::lock_guard lock(mutex_);
    if (!done_) return subscribers_.emplace_back(fn, user), void();
  }
  call(fn, user);
}

// The outcome is final once done_ is set, so it is read without the lock, which a callback must not find held.
void Point::call(bp_event_fn fn, void* user) const {
  std::string text = outcome_.message;
  bp_error status{};
  status.size = sizeof status;
  status.message = text.data();
  status.message_cap = static_cast<uint32_t>(text.size() + 1);
  status.message_len = static_cast<uint32_t>(text.size());
  status.code = outcome_.code;
  fn(user, &status);
}

void Event::stand_for(std::shared_ptr<Point> point) {
  const std::lock_guard lock(mutex_);
  point_ = std::move(point);
}

std::shared_ptr<Point> Event::renew() {
  auto point = std::make_shared<Point>();
  stand_for(point);
  return point;
}

std::shared_ptr<Point> Event::point() {
  const std::lock_guard lock(mutex_);
  if (point_ == nullptr) throw Error(BP_E_STATE, "the event was never recorded");
  return point_;
}

}  // namespace fake
