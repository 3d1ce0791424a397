#include "candidate.hpp"

#include <chrono>

#include "hint.hpp"

namespace backplane {
namespace {

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

void Candidate::stop(LoadStage stage, LoadOutcome outcome, const Status& status, std::string_view hint) {
  report.stage = stage;
  report.outcome = outcome;
  report.code = status.id().empty() ? code_name(status.code()) : status.id();
  report.message = status.message();
  report.hint = hint.empty() ? hint_of(report.code) : hint;
  stopped = true;
}

CandidateTimer::CandidateTimer(LoadReport& report) : report_(report), begin_ns_(now_ns()) {}
CandidateTimer::~CandidateTimer() { report_.elapsed_ns += now_ns() - begin_ns_; }

}  // namespace backplane
