// TimedRuns: a prepared session, run as often and with as many runs in flight as the command line asks for.
// Thread safety: from the main thread.
#pragma once

#include <cstdint>

#include "arguments.hpp"
#include "backplane/base/status.hpp"
#include "backplane/scheduler/session.hpp"
#include "backplane/scheduler/trace.hpp"

namespace backplane::cli {

struct Timing {
  double min_ms = 0, median_ms = 0, max_ms = 0;  // of single runs, from submission to the end
  double per_second = 0;                         // runs, over all
  uint32_t runs = 0, in_flight = 1;
};

class TimedRuns {
 public:
  // The trace is filled if the arguments name a file for it. All three outlive this and the session's runs.
  TimedRuns(Session& session, const RunArguments& arguments, Trace& trace);

  // The run whose outputs are shown; with --repeat also the one that warms up. Errors: those of Session::run.
  Status first();
  // The runs of --repeat; without it, what the first run took. Errors: those of Session::submit and wait.
  Result<Timing> rest();

 private:
  bool forget_earlier_plans();

  Session& session_;
  const RunArguments& arguments_;
  Trace& trace_;
  RunOptions options_;
  uint64_t recoveries_;
};

}  // namespace backplane::cli
