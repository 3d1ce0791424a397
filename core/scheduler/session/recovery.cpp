// How a Session::State goes on after a setback.
#include "backplane/base/text.hpp"
#include "scheduler/session/session_state.hpp"

namespace backplane {

bool Session::State::has_written_state() const {
  for (const Flight& flight : flights_)
    if (!flight.aborted && executor->has_written_state(flight.number)) return true;
  return false;
}

void Session::State::abort_others() {
  for (size_t i = 1; i < flights_.size(); ++i) {
    Setback ignored;
    if (!flights_[i].aborted) static_cast<void>(executor->wait(flights_[i].number, flights_[i].options, &ignored));
    flights_[i].aborted = true;
  }
}

Status Session::State::recover(const RunOptions& options, const Status& status, Setback* setback) {
  const Setback met = *setback;
  *setback = {};
  PlanOptions plan_options = this->plan_options(*graph, {});
  if (!meet(met, status, plan(), plan_options)) return status;
  if (has_written_state()) return status.with_context("the run has written a state and cannot be started again");
  {
    const std::lock_guard lock(active_mutex_);
    if (cancelled_) return {Code::cancelled, "the run was cancelled", "session.cancelled"};
    active_ = nullptr;
  }
  abort_others();
  if (met.kind == Setback::Kind::lost) cache_.erase_users(met.device, executor);
  return run_again(options, std::move(plan_options), met.kind == Setback::Kind::refused_late, setback);
}

Status Session::State::run_again(const RunOptions& options, PlanOptions plan_options, bool step_by_step,
                                 Setback* setback) {
  std::vector<bool> is_lost(devices_.size(), false);
  for (const uint32_t device : lost_) is_lost[device] = true;
  Flight& flight = flights_.front();
  BP_TRY_ASSIGN(const InputValues::Snapshot used,
                inputs_.save(*executor, *graph, executor->slot(flight.number), is_lost));
  BP_TRY_ASSIGN(const InputValues::Snapshot newest, inputs_.save(*executor, *graph, is_lost));
  inactive_ = true;
  BP_TRY_ASSIGN(std::unique_ptr<Executor> made, make_executor(graph, nullptr, std::move(plan_options)));
  inactive_ = false;
  const std::unique_ptr<Executor> old = cache_.take(executor);
  has_outputs = false;
  executor = cache_.insert(std::move(made));
  observed_.reset();
  BP_TRY(inputs_.restore(used, *executor, /*newest=*/false));
  set_active(executor);
  flight.number = executor->submit(options, step_by_step);
  const Status status = finish(flight.number, options, setback);
  BP_TRY(inputs_.restore(newest, *executor, /*newest=*/true));
  return status;
}

}  // namespace backplane
