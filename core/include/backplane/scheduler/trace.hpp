// Trace: what ran when in the runs of one plan, and its export for a timeline viewer.
//
// The export is Chrome's trace-event JSON, which Perfetto and chrome://tracing open: a process for each device with its
// lane as the only thread, slices for splits and copies, arrows from the task that made a tensor to the copy of it and
// on to the split that reads the copy, counters of live bytes by pool and of bytes copied.
// Thread safety: `add` and `size` from any thread; the rest when nothing is added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {

// One task of one run as it happened. Times in nanoseconds of one steady clock.
struct TraceEvent {
  uint64_t run;   // the same number for all tasks of a run
  uint32_t task;  // into Plan::tasks
  uint64_t begin_ns, end_ns;
};

class Trace {
 public:
  // Makes room for so many events in all.
  void reserve(size_t events);
  // Allocates nothing within what was reserved.
  void add(const TraceEvent& event);
  size_t size() const;
  void clear();

  // Timestamps in microseconds from the first event on. Events of tasks that the plan does not have are left out, so
  // clear the trace when a session has planned anew.
  Json to_json(const Plan& plan) const;
  // Writes the JSON to a file. Errors: unavailable naming the path.
  Status write(const Plan& plan, const std::string& path) const;

 private:
  mutable std::mutex mutex_;
  std::vector<TraceEvent> events_;
};

}  // namespace backplane
