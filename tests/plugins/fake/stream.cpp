#include "stream.hpp"

#include <cstring>

#include "compiled_graph.hpp"
#include "device.hpp"

namespace fake {

using backplane::sdk::Error;

Stream::Stream(Device& device, uint64_t number)
    : device_(device), async_(device.options().async), random_(device.options().seed * 7919 + number) {
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
  std::shared_ptr<const CompiledGraph> graph = work.program != nullptr
                                                   ? device_.program(*backplane::sdk::from_handle(work.program))
                                                   : std::make_shared<CompiledGraph>(*work.graph, device_.mix_op());
  const std::span<const bp_binding> bindings(work.bindings, work.binding_count);
  auto submission =
      std::make_shared<const Submission>(std::move(graph), bindings, &device_, device_.options().alignment, work.run);
  const Fault fault = device_.next_fault();
  enqueue([this, submission, fault] {
    device_.strike(fault);
    submission->run([&] { return is_cancelled(submission->run_id()); });
  });
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
  if (source != nullptr && target != nullptr && source->owner() != target->owner() && !device_.options().peer_copy)
    throw Error(BP_E_UNSUPPORTED, "these devices do not reach each other");
  if (from.data < to.data + rows_span(copy, to.pitch) && to.data < from.data + rows_span(copy, from.pitch))
    throw Error(BP_E_INVALID_ARG, "source and target of a copy overlap");
  enqueue([from, to, row_bytes = copy.row_bytes, rows = copy.rows] { copy_rows(to, from, row_bytes, rows); });
}

void Stream::fill(backplane::sdk::Buffer& buffer, uint64_t offset, uint64_t bytes, uint8_t byte) {
  device_.require_alive();
  enqueue([&buffer, offset, bytes, byte] { buffer.fill(offset, bytes, byte); });
}

void Stream::record(backplane::sdk::Event& event) {
  auto point = static_cast<Event&>(event).renew();
  if (!async_) return point->complete(outcome());
  push([this, point] { point->complete(outcome()); });
}

// A wait orders work; the error that the event carries stays with the stream it came from.
void Stream::wait(backplane::sdk::Event& event) {
  auto point = static_cast<Event&>(event).point();
  if (!async_) return point->wait();
  push([point] { point->wait(); });
}

bp_code Stream::synchronize(uint64_t timeout_ns, bp_error* error) {
  std::unique_lock lock(mutex_);
  if (!wait_until_ready(changed_, lock, timeout_ns, [&] { return queue_.empty() && !busy_; }))
    return report({BP_E_TIMEOUT, "work is still queued"}, error);
  const bool sticky = outcome_.code == BP_E_DEVICE_LOST;
  const Outcome result = outcome_;
  if (!sticky) outcome_ = {};
  return report(result, error, sticky ? BP_ERROR_STICKY : 0);
}

void Stream::cancel(bp_run_id run) {
  const std::lock_guard lock(mutex_);
  cancelled_.insert(run);
}

void Stream::enqueue(Task work) {
  if (!async_) return work();
  push([this, work = std::move(work)] {
    if (outcome().code < 0) return;
    delay();
    Outcome result;
    try {
      work();
    } catch (const Error& error) {
      result = {error.code(), error.what()};
    } catch (const std::exception& error) {
      result = {BP_E_INTERNAL, error.what()};
    }
    const std::lock_guard lock(mutex_);
    outcome_ = result;
  });
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
  const uint32_t limit = device_.options().max_delay_us;
  if (limit != 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % (limit + uint64_t{1})));
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
