#include "run_checks.hpp"

#include <deque>

#include "backplane/base/text.hpp"

namespace backplane::testing {
namespace {

// Exactly what the plan says, or less where only the rows that a run uses are copied.
bool fits_plan(uint64_t copied_bytes, const Plan& plan) {
  uint64_t always = 0;
  for (const PlannedCopy& copy : plan.copies)
    if (copy.indices == kNone) always += copy.bytes();
  return always <= copied_bytes && copied_bytes <= plan.copy_bytes;
}

}  // namespace

std::string check_runs_in_turn(Session& session, const GeneratedGraph& generated, const std::vector<Outputs>& wanted) {
  if (const Status status = set_inputs(session, generated); !status.ok()) return status.to_string();
  for (size_t run = 0; run < wanted.size(); ++run) {
    if (const Status status = session.run(); !status.ok()) return cat("run ", run, ": ", status.to_string());
    if (std::string fault = compare_outputs(session, wanted[run]); !fault.empty()) return cat("run ", run, ": ", fault);
    if (!fits_plan(session.statistics().copied_bytes, session.plan()) ||
        session.statistics().split_count != session.plan().splits.size())
      return "11: the statistics of the run are not those of the plan";
  }
  return "";
}

std::string check_pipelined_runs(Session& session, const GeneratedGraph& first, const Outputs& wanted_first,
                                 const GeneratedGraph& second, const Outputs& wanted_second) {
  std::deque<uint64_t> flying;
  uint64_t submitted = 0, done = 0;
  constexpr uint64_t kRuns = 6;
  while (done < kRuns) {
    if (submitted < kRuns && flying.size() < session.pipeline_depth()) {
      const GeneratedGraph& inputs = submitted++ % 2 == 0 ? first : second;
      if (const Status status = set_inputs(session, inputs); !status.ok()) return status.to_string();
      const Result<uint64_t> run = session.submit();
      if (!run.ok()) return cat("38: submission ", submitted, ": ", run.status().to_string());
      flying.push_back(*run);
      continue;
    }
    if (const Status status = session.wait(flying.front()); !status.ok())
      return cat("38: run ", done, ": ", status.to_string());
    flying.pop_front();
    if (std::string fault = compare_outputs(session, done % 2 == 0 ? wanted_first : wanted_second); !fault.empty())
      return cat("38: run ", done, " of ", session.pipeline_depth(), " at once: ", fault);
    ++done;
  }
  return "";
}

}  // namespace backplane::testing
