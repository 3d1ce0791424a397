#include "stream.hpp"

#include <cstring>

namespace fake {

using backplane::sdk::Error;

namespace {

Outcome outcome_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::exception& error) {
    return {BP_E_INTERNAL, error.what()};
  }
  return {};
}

}  // namespace

Stream::Stream(Device& device, uint64_t number)
    : device_(device),
      live_(device.counters().live_streams),
      async_(device.options().async),
      random_(device.options().seed * 7919 + number) {
  if (async_) worker_ = std::thread([this] { work_loop(); });
}

Stream::~Stream() {
  if (!async_) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  worker_.join();
}

void Stream::submit(const bp_submit_desc& work) {
  device_.require_alive();
  const Options& options = device_.options();
  std::shared_ptr<const CompiledGraph> graph;
  if (work.program == nullptr) {
    graph = device_.prepare(*work.graph, options.refuse_submit);
  } else {
    graph = static_cast<Program*>(backplane::sdk::from_handle(work.program))->graph();
    device_.require_accepted(*graph, options.refuse_submit);
  }
  const std::span<const bp_binding> bindings(work.bindings, work.binding_count);
  const auto submission = std::make_shared<const Submission>(std::move(graph), bindings, device_, work.run);
  const bp_code fault = device_.faults().next(CallKind::kSubmit);
  const auto describe = [this, submission](uint32_t node) {
    return device_.name() + ": node " + std::to_string(node) + " (" + submission->graph().kernel(node).name + ")";
  };
  enqueue({fault, work.run, submission->accesses(), describe, [this, submission] {
             device_.require_accepted(submission->graph(), device_.options().refuse_run);
             submission->run([&] { return is_cancelled(submission->run_id()); });
             device_.counters().nodes += submission->graph().graph().node_count;
           }});
}

namespace {

// One side of a copy.
struct Side {
  std::byte* data;
  uint64_t pitch;
};

void copy_rows(Side target, Side source, uint64_t row_bytes, uint64_t rows) {
  for (uint64_t row = 0; row < rows; ++row)
    std::memcpy(target.data + row * target.pitch, source.data + row * source.pitch, row_bytes);
}

uint64_t rows_span(const bp_copy_desc& copy, uint64_t pitch) { return (copy.rows - 1) * pitch + copy.row_bytes; }

Buffer* own_buffer(bp_buffer* handle) { return static_cast<Buffer*>(backplane::sdk::from_handle(handle)); }

}  // namespace

void Stream::copy(const bp_copy_desc& copy) {
  device_.require_alive();
  if (copy.rows == 0 || copy.row_bytes == 0) return;
  const Buffer *source = own_buffer(copy.source), *target = own_buffer(copy.target);
  const Side from{source != nullptr ? source->data() + copy.source_offset
                                    : static_cast<std::byte*>(const_cast<void*>(copy.source_host)),
                  copy.source_pitch_bytes};
  const Side to{target != nullptr ? target->data() + copy.target_offset : static_cast<std::byte*>(copy.target_host),
                copy.target_pitch_bytes};
  if (target != nullptr && !target->writable())
    throw Error(BP_E_INVALID_ARG, "the target of a copy borrows memory that may only be read");
  if (source != nullptr && target != nullptr && &source->device() != &target->device() && !device_.options().peer_copy)
    throw Error(BP_E_UNSUPPORTED, "these devices do not reach each other");
  const AccessRange read{from.data, rows_span(copy, from.pitch), false, 0};
  const AccessRange written{to.data, rows_span(copy, to.pitch), true, 1};
  if (read.conflicts_with(written)) throw Error(BP_E_INVALID_ARG, "source and target of a copy overlap");
  const auto describe = [this](uint32_t) { return device_.name() + ": a copy"; };
  enqueue({device_.faults().next(CallKind::kCopy),
           0,
           {read, written},
           describe,
           [this, from, to, row_bytes = copy.row_bytes, rows = copy.rows] {
             copy_rows(to, from, row_bytes, rows);
             device_.counters().copied_bytes += row_bytes * rows;
           }});
}

void Stream::fill(backplane::sdk::Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) {
  device_.require_alive();
  auto& target = static_cast<Buffer&>(buffer);
  if (!target.writable()) throw Error(BP_E_INVALID_ARG, "the target of a fill borrows memory that may only be read");
  std::byte* data = target.data() + offset;
  enqueue({device_.faults().next(CallKind::kCopy),
           0,
           {{data, bytes, true, 0}},
           [this](uint32_t) { return device_.name() + ": a fill"; },
           [data, bytes, byte] {
             if (bytes != 0) std::memset(data, byte, bytes);
           }});
}

void Stream::record(backplane::sdk::Event& event) {
  device_.call(CallKind::kEvent);
  auto point = static_cast<Event&>(event).renew();
  if (!async_) return point->complete(outcome());
  push([this, point] { point->complete(outcome()); });
}

// A wait orders work; the error that the event carries stays with the stream it came from.
void Stream::wait(backplane::sdk::Event& event) {
  device_.call(CallKind::kEvent);
  auto point = static_cast<Event&>(event).point();
  if (!async_) return point->wait();
  push([point] { point->wait(); });
}

bp_code Stream::synchronize(uint64_t timeout_ns, bp_error* error) {
  const bp_code fault = device_.faults().next(CallKind::kSynchronize);
  std::unique_lock lock(mutex_);
  if (!wait_until_ready(changed_, lock, timeout_ns, [&] { return queue_.empty() && !busy_; }))
    return report({BP_E_TIMEOUT, "work is still queued"}, error);
  Outcome result = std::move(outcome_);
  outcome_ = {};
  if (result.code >= 0) result = outcome_of([&] { device_.strike(fault); });
  const bool sticky = result.code == BP_E_DEVICE_LOST;
  return report(result, error, sticky ? BP_ERROR_STICKY : 0);
}

void Stream::cancel(bp_run_id run) {
  const std::lock_guard lock(mutex_);
  cancelled_.insert(run);
}

void Stream::enqueue(Work work) {
  if (!async_) return perform(work);
  push([this, work = std::make_shared<Work>(std::move(work))] { perform_queued(*work); });
}

void Stream::perform(Work& work) {
  device_.strike(work.fault);
  const auto claimed = device_.claim(std::move(work.accesses), std::move(work.describe));
  if (work.fault == kHang) hang(work.run);
  if (async_) delay();
  work.body();
}

void Stream::perform_queued(Work& work) {
  if (outcome().code < 0) return;
  Outcome result = outcome_of([&] { perform(work); });
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(result);
}

void Stream::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Stream::work_loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Stream::delay() {
  const Options& options = device_.options();
  if (options.max_delay_us + options.long_delay_us == 0) return;
  uint64_t microseconds = random_() % (options.max_delay_us + uint64_t{1});
  if (random_() % 16 == 0) microseconds += options.long_delay_us;
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

void Stream::hang(bp_run_id run) {
  const auto ended = [&] {
    if (is_cancelled(run)) return true;
    const std::lock_guard lock(mutex_);
    return stopping_;
  };
  while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  throw Error(BP_E_CANCELLED, "the run was cancelled while it hung");
}

bool Stream::is_cancelled(bp_run_id run) {
  if (run == 0) return false;
  if (device_.host().cancelled(run)) return true;
  const std::lock_guard lock(mutex_);
  return cancelled_.count(run) != 0;
}

Outcome Stream::outcome() {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

}  // namespace fake
