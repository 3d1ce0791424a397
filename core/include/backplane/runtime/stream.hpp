// Stream, Event and Program: owned work queues, points in them, and compiled graphs.
//
// Each is a move-only owner that must be destroyed before its Device's Runtime. Thread safety: calls on one object
// are serialised by the caller, but for Event::query and Event::wait, which any thread may call.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "backplane/abi/program.h"
#include "backplane/abi/stream.h"
#include "backplane/base/status.hpp"

namespace backplane {

class Device;

// A move-only owner of a plugin handle with its device; `destroy` is looked up in the device's tables.
template <class Handle>
class Owned {
 public:
  Owned() = default;
  Owned(Device& device, Handle* handle) : device_(&device), handle_(handle) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      device_ = std::exchange(other.device_, nullptr);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  explicit operator bool() const { return handle_ != nullptr; }
  Device& device() const { return *device_; }
  Handle* handle() const { return handle_; }
  void reset();

 protected:
  Device* device_ = nullptr;
  Handle* handle_ = nullptr;
};

class Event : public Owned<bp_event> {
 public:
  using Owned::Owned;
  // True if the work before the event is done; the error of that work if it failed.
  Result<bool> query() const;
  // Errors: deadline_exceeded; the error of the work before the event.
  Status wait(uint64_t timeout_ns = BP_TIMEOUT_INFINITE) const;
};

class Program : public Owned<bp_program> {
 public:
  using Owned::Owned;
  // Adapts to new shapes. Errors: unimplemented, and the program still works as before.
  Status update(const bp_graph& graph);
};

class Stream : public Owned<bp_stream> {
 public:
  using Owned::Owned;
  // Queues a bound graph.
  Status submit(const bp_graph& graph, bp_run_id run);
  // Queues a program with a binding for every tensor that is not a view.
  Status submit(const Program& program, std::span<const bp_binding> bindings, bp_run_id run);
  // Queues a copy; `desc.head` is filled in here.
  Status copy(bp_copy_desc desc);
  Status record(Event& event);
  Status wait(Event& event);
  // Waits for all queued work and returns the first error since the last call.
  Status synchronize(uint64_t timeout_ns = BP_TIMEOUT_INFINITE);
  Status cancel(bp_run_id run);
};

}  // namespace backplane
