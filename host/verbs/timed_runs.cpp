#include "timed_runs.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <vector>

namespace backplane::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostReserved = uint64_t{1} << 20;  // trace events; beyond these it grows as it runs

double elapsed_ms(const Session& session) { return static_cast<double>(session.statistics().elapsed_ns) / 1e6; }

}  // namespace

TimedRuns::TimedRuns(Session& session, const RunArguments& arguments, Trace& trace)
    : session_(session), arguments_(arguments), trace_(trace), recoveries_(session.totals().recoveries) {
  if (arguments.timeout_s > 0) options_.timeout_ns = static_cast<uint64_t>(arguments.timeout_s * 1e9);
  if (arguments.trace_file.empty()) return;
  options_.trace = &trace;
  const uint64_t events = (uint64_t{arguments.repeat} + 1) * session.plan().tasks.size();
  trace.reserve(std::min(events, kMostReserved));
}

// A trace is of one plan: when a device was lost or refused, what ran before is left out. True if there was such a
// thing.
bool TimedRuns::forget_earlier_plans() {
  if (session_.totals().recoveries == recoveries_) return false;
  recoveries_ = session_.totals().recoveries;
  trace_.clear();
  return true;
}

Status TimedRuns::first() {
  BP_TRY(session_.run(options_));
  return forget_earlier_plans() && options_.trace != nullptr ? session_.run(options_) : Status();
}

Result<Timing> TimedRuns::rest() {
  Timing timing;
  std::vector<double> times;
  std::deque<uint64_t> in_flight;
  const Clock::time_point start = Clock::now();
  for (uint32_t submitted = 0; submitted < arguments_.repeat || !in_flight.empty();) {
    if (submitted < arguments_.repeat && in_flight.size() < session_.pipeline_depth()) {
      BP_TRY_ASSIGN(const uint64_t run, session_.submit(options_));
      in_flight.push_back(run);
      ++submitted;
      continue;
    }
    BP_TRY(session_.wait(in_flight.front()));
    forget_earlier_plans();
    in_flight.pop_front();
    times.push_back(elapsed_ms(session_));
  }
  const std::chrono::duration<double> seconds = Clock::now() - start;
  if (times.empty()) times.push_back(elapsed_ms(session_));
  std::sort(times.begin(), times.end());
  const size_t middle = times.size() / 2;
  timing.min_ms = times.front();
  timing.median_ms = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  timing.max_ms = times.back();
  timing.runs = static_cast<uint32_t>(times.size());
  timing.in_flight = session_.pipeline_depth();
  timing.per_second = arguments_.repeat == 0 ? 1e3 / std::max(timing.median_ms, 1e-6)
                                             : arguments_.repeat / std::max(seconds.count(), 1e-9);
  return timing;
}

}  // namespace backplane::cli
