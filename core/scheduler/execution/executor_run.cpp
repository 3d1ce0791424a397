// The running of an Executor; its making is in executor.cpp.
#include <algorithm>
#include <system_error>

#include "backplane/base/text.hpp"
#include "backplane/scheduler/trace.hpp"
#include "scheduler/execution/executor.hpp"

namespace backplane {
namespace {

using Clock = RunState::Clock;

Clock::time_point deadline_of(const RunState& run, uint64_t timeout_ns) {
  const auto longest = static_cast<uint64_t>((Clock::time_point::max() - run.begun()).count());
  return timeout_ns >= longest ? Clock::time_point::max() : run.begun() + std::chrono::nanoseconds(timeout_ns);
}

uint64_t nanoseconds_until(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return BP_TIMEOUT_INFINITE;
  const auto left = deadline - Clock::now();
  return left.count() <= 0 ? 0 : static_cast<uint64_t>(left.count());
}

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

Status too_late(uint64_t timeout_ns) {
  return {Code::deadline_exceeded, cat("the run took longer than ", timeout_ns / 1000000, " ms"), "session.timeout"};
}

Status aborted() { return {Code::aborted, "a run before this one failed while it was in flight", "session.aborted"}; }

}  // namespace

RunState& Executor::begin_run(const RunOptions& options, bool step_by_step) {
  const uint64_t number = next_number_++;
  RunState& run = *runs_[slot(number)];
  run.begin(number, runtime_.begin_run(), options, threaded() ? lane_count_ : 0, step_by_step);
  if (guard_ != nullptr)
    if (const Status status = guard_->begin_run(); !status.ok()) run.fail(status);
  return run;
}

uint64_t Executor::submit(const RunOptions& options, bool step_by_step) {
  const bool overlaps = depth() > 1 || !plan_->sequential || options.timeout_ns != BP_TIMEOUT_INFINITE;
  if (overlaps && lane_count_ != 0 && !threaded()) start_threads();
  RunState& run = begin_run(options, step_by_step);
  const uint64_t number = next_number_ - 1;
  if (!threaded()) {
    run_here(run, nullptr);
  } else {
    submitted_.store(next_number_, std::memory_order_release);
    submitted_.notify_all();
  }
  return number;
}

uint64_t Executor::run_observed(const RunOptions& options, const std::function<Status(uint32_t)>& after_split) {
  RunState& run = begin_run(options, /*step_by_step=*/false);
  const Clock::time_point deadline = deadline_of(run, options.timeout_ns);
  const std::function<Status(uint32_t)> in_time = [&](uint32_t split) {
    return Clock::now() > deadline ? too_late(options.timeout_ns) : after_split(split);
  };
  run_here(run, &in_time);
  return next_number_ - 1;
}

// All or none: where the system gives no more threads, the caller runs the tasks itself, which is slower and as right.
void Executor::start_threads() {
  submitted_ = next_number_;
  try {
    threads_.reserve(lane_count_);
    for (uint32_t lane = 0; lane < lanes_.size(); ++lane) {
      if (lanes_[lane] == nullptr) continue;
      lanes_[lane]->set_issued(next_number_ * lanes_[lane]->task_count());
      threads_.emplace_back([this, lane] { serve(lane); });
    }
  } catch (const std::system_error& error) {
    stop_threads();
    runtime_.log().write(LogLevel::warn, "scheduler", cat("no thread for each device: ", error.what()));
  }
}

void Executor::stop_threads() {
  closing_ = true;
  submitted_.fetch_add(1);
  submitted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  closing_ = false;
}

void Executor::serve(uint32_t number_of_lane) {
  Lane& lane = *lanes_[number_of_lane];
  for (uint64_t number = lane.issued() / lane.task_count();; ++number) {
    for (uint64_t seen = submitted_; seen <= number; seen = submitted_) submitted_.wait(seen);
    if (closing_) return;
    run_lane(lane, lane_tasks_[number_of_lane], *runs_[slot(number)]);
  }
}

void Executor::run_lane(Lane& lane, std::span<const uint32_t> tasks, RunState& run) {
  if (broken_from_ < run.number()) run.fail(aborted());
  join_finished_runs(plan_->tasks[tasks.front()].lane, run.number());
  for (const uint32_t task : tasks) {
    execute(lane, task, run);
    lane.set_issued(lane.issued() + 1);
  }
  if (const Status status = end_lane(lane, run.number()); !status.ok())
    fail(run, plan_->tasks[tasks.front()].device, nullptr, status);
  run.lane_done();
}

void Executor::run_here(RunState& run, const std::function<Status(uint32_t)>* after_split) {
  for (uint32_t lane = 0; lane < lanes_.size(); ++lane)
    if (lanes_[lane] != nullptr) join_finished_runs(lane, run.number());
  for (uint32_t index = 0; index < plan_->tasks.size() && !run.stopped(); ++index) {
    const Task& task = plan_->tasks[index];
    Lane& lane = *lanes_[task.lane];
    execute(lane, index, run);
    if (after_split == nullptr || task.is_copy || run.stopped()) continue;
    Status status = lane.is_async() ? lane.stream().synchronize() : Status();
    if (!status.ok()) fail(run, task.device, &task, status);
    if (status.ok()) status = (*after_split)(task.index);
    if (!status.ok()) run.fail(status);
  }
}

void Executor::execute(Lane& lane, uint32_t index, RunState& run) {
  if (run.stopped()) return;
  const Task& task = plan_->tasks[index];
  const Status status = run.step_by_step() ? issue_alone(lane, index, run) : issue(lane, index, run);
  if (!status.ok()) fail(run, task.device, &task, status);
}

// What a task waits for is not part of it; its work is, so it is waited for.
Status Executor::issue_alone(Lane& lane, uint32_t index, RunState& run) {
  const Task& task = plan_->tasks[index];
  BP_TRY(await_others(lane, task, run));
  if (run.stopped()) return {};
  if (lane.is_async()) BP_TRY(lane.stream().synchronize());
  const uint64_t begin = now_ns();
  BP_TRY(issue(lane, index, run));
  if (lane.is_async()) BP_TRY(lane.stream().synchronize());
  if (!run.stopped() && run.trace() != nullptr) run.trace()->add({run.number(), index, begin, now_ns()});
  return {};
}

Status Executor::issue(Lane& lane, uint32_t index, RunState& run) {
  const Task& task = plan_->tasks[index];
  if (task.wait_count + task.carried_count != 0) {
    BP_TRY(await_others(lane, task, run));
    if (run.stopped()) return {};
  }
  BP_TRY(check_accesses(index, run));
  if (writes_state_[index] != 0) run.note_state_written();
  const uint32_t slot = this->slot(run.number());
  if (task.is_copy) {
    BP_TRY_ASSIGN(const uint64_t copied, copies_[task.index].run(lane, slot, staging_[task.device]));
    if (plan_->copies[task.index].indices != kNone) run.note_saved(plan_->copies[task.index].bytes() - copied);
  } else {
    BP_TRY(splits_[task.index].submit(lane.stream(), slot, run.id()));
  }
  return signals_[index] != 0 && lane.is_async() ? signal(lane, index, run.number()) : Status();
}

Status Executor::await_others(Lane& lane, const Task& task, RunState& run) {
  for (uint32_t i = 0; i < task.wait_count; ++i) {
    const Task& other = plan_->tasks[plan_->waits[task.first_wait + i]];
    if (threaded()) lanes_[other.lane]->await_issued(run.number() * lanes_[other.lane]->task_count() + other.rank + 1);
    if (run.stopped()) return {};  // the other may not have been issued at all
    BP_TRY(await_task(lane, task, other, run.number(), run));
    if (races_ != nullptr)
      races_->join(task.lane, other.lane, run.number() * lanes_[other.lane]->task_count() + other.rank + 1);
  }
  if (depth() == 1 || run.number() == 0) return {};
  const uint64_t before = run.number() - 1;
  for (uint32_t i = 0; i < task.carried_count; ++i) {
    const Task& other = plan_->tasks[plan_->carried_waits[task.first_carried + i]];
    if (finished_ <= before) {
      if (threaded()) lanes_[other.lane]->await_issued(before * lanes_[other.lane]->task_count() + other.rank + 1);
      if (broken_from_ <= before) return aborted();
      BP_TRY(await_task(lane, task, other, before, run));
    }
    if (races_ != nullptr)
      races_->join(task.lane, other.lane, before * lanes_[other.lane]->task_count() + other.rank + 1);
  }
  return {};
}

// Another lane's task was issued; what is queued next on this one must come after its end. The event tells of what
// befell the other lane, which is not this one's failure.
Status Executor::await_task(Lane& lane, const Task& task, const Task& other, uint64_t number, RunState& run) {
  Lane& source = *lanes_[other.lane];
  if (!source.is_async() || !source.has_events()) return {};
  Event& event = source.event(other.rank, event_slot(number));
  const bool by_stream = lane.is_async() && lane.has_events() &&
                         lane.device().plugin_id() == source.device().plugin_id() &&
                         !(task.is_copy && copies_[task.index].needs_ready_source());
  if (by_stream) return lane.stream().wait(event);
  if (const Status status = event.wait(); !status.ok()) fail(run, other.device, nullptr, status);
  return {};
}

Status Executor::signal(Lane& lane, uint32_t index, uint64_t number) {
  return lane.has_events() ? lane.stream().record(lane.event(plan_->tasks[index].rank, event_slot(number)))
                           : lane.stream().synchronize();
}

// Makes the end of the run something that can be waited for while the next one is queued behind it.
Status Executor::end_lane(Lane& lane, uint64_t number) {
  if (!lane.is_async()) return {};
  return lane.has_events() ? lane.stream().record(lane.event(lane.task_count(), event_slot(number)))
                           : lane.stream().synchronize();
}

Status Executor::wait(uint64_t number, const RunOptions& options, Setback* setback) {
  RunState& run = *runs_[slot(number)];
  const Clock::time_point deadline = deadline_of(run, options.timeout_ns);
  const auto late = [&] { stop(run, too_late(options.timeout_ns)); };
  if (!run.await_lanes(deadline)) {
    late();
    run.await_lanes(Clock::time_point::max());
  }
  for (uint32_t lane = 0; lane < lanes_.size() && !run.stopped(); ++lane) {
    if (lanes_[lane] == nullptr || !lanes_[lane]->is_async()) continue;
    const Status status = finish_lane(*lanes_[lane], run, nanoseconds_until(deadline));
    if (status.code() == Code::deadline_exceeded && deadline <= Clock::now())
      late();
    else if (!status.ok())
      fail(run, device_of(lane), nullptr, status);
  }
  if (guard_ != nullptr && !run.stopped())
    if (const Status status = guard_->check(); !status.ok()) run.fail(status);
  if (run.stopped()) drain();
  run.end();
  finished_ = number + 1;
  runtime_.finish_run(run.id());
  *setback = run.setback();
  return run.status();
}

Status Executor::finish_lane(Lane& lane, const RunState& run, uint64_t timeout_ns) {
  if (!threaded()) return lane.stream().synchronize(timeout_ns);
  if (!lane.has_events()) return {};  // its thread has waited
  return lane.event(lane.task_count(), event_slot(run.number())).wait(timeout_ns);
}

void Executor::fail(RunState& run, uint32_t device, const Task* task, const Status& status) {
  break_from(run.number());
  Setback setback = setback_of(status, device, task != nullptr && !task->is_copy ? task->index : kNone);
  // What runs in the background tells of a failure when something later is asked for.
  if (status.code() == Code::unimplemented && devices_[device]->has(BP_CAP_ASYNC) && !run.step_by_step())
    setback = {Setback::Kind::refused_late, device, kNone};
  run.fail(status.with_context(task != nullptr ? task_text(*task) : cat("running on ", plan_->device_names[device])),
           setback);
}

// Runs behind a failed one are not begun: they would read what it has not written.
void Executor::break_from(uint64_t number) {
  uint64_t first = broken_from_;
  while (number < first && !broken_from_.compare_exchange_weak(first, number)) {
  }
}

void Executor::stop(RunState& run, Status status) {
  run.stop(std::move(status), [this](bp_run_id id, uint64_t number) {
    break_from(number);
    runtime_.cancel_run(id);
    for (const auto& lane : lanes_)
      if (lane != nullptr && lane->device().has(BP_CAP_CANCEL)) static_cast<void>(lane->stream().cancel(id));
  });
}

void Executor::cancel() {
  for (const auto& run : runs_) stop(*run, {Code::cancelled, "the run was cancelled", "session.cancelled"});
}

// After this no device works on anything of this executor, and no stream holds an old error.
void Executor::drain() {
  for (const auto& run : runs_) run->await_lanes(Clock::time_point::max());
  for (const auto& lane : lanes_)
    if (lane != nullptr) static_cast<void>(lane->stream().synchronize());
  if (races_ != nullptr) races_->drained();
  broken_from_ = UINT64_MAX;
}

std::string Executor::task_text(const Task& task) const {
  if (!task.is_copy) return cat("running split ", task.index, " on ", plan_->device_names[task.device]);
  const PlannedCopy& copy = plan_->copies[task.index];
  return cat("copying ", plan_->transfer_text(task), " from ", plan_->device_names[copy.from], " to ",
             plan_->device_names[copy.to]);
}

}  // namespace backplane
