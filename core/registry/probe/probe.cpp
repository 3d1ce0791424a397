#include "probe.hpp"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <thread>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "probe_child.hpp"

namespace backplane {
namespace {

constexpr size_t kMaxAtOnce = 8;  // drivers that start together slow each other down

std::string signal_text(int number) {
  const char* name = ::sigabbrev_np(number);
  return name ? cat("signal ", number, " (SIG", name, ")") : cat("signal ", number);
}

std::string where(LoadStage stage) {
  return stage == LoadStage::active ? "while it was closed" : cat("in stage '", stage_name(stage), "'");
}

struct Running {
  size_t index;  // of the request
  ProbeChild child;
};

// Returns when one of them has something to say or is out of time.
void wait_for_any(const std::list<Running>& running) {
  std::vector<pollfd> wanted;
  ProbeChild::Clock::time_point deadline = ProbeChild::Clock::time_point::max();
  for (const Running& one : running) {
    for (const pollfd& item : one.child.wanted()) wanted.push_back(item);
    deadline = std::min(deadline, one.child.deadline());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - ProbeChild::Clock::now());
  // A failure, such as an interruption, only means that the steps are taken early.
  static_cast<void>(
      ::poll(wanted.data(), wanted.size(), static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000))));
}

}  // namespace

Status probe_failure(const ProbeVerdict& verdict, std::chrono::milliseconds limit) {
  const std::string stage = where(verdict.stage);
  switch (verdict.end) {
    case ProbeVerdict::End::crashed:
      return Status(Code::aborted,
                    cat("the plugin crashed ", stage, " with ", signal_text(verdict.number), " in a trial process"),
                    "probe.crashed");
    case ProbeVerdict::End::timed_out:
      return Status(Code::deadline_exceeded,
                    cat("the plugin did not return ", stage, " within ", limit.count(), " ms in a trial process"),
                    "probe.timeout");
    default:
      return Status(Code::aborted,
                    cat("the plugin ended its process ", stage,
                        verdict.number >= 0 ? cat(" with exit status ", verdict.number) : " for an unknown reason",
                        " in a trial process"),
                    "probe.exited");
  }
}

Result<std::string> probe_helper_path() {
  const std::string core = core_library_path();
  const std::string path = std::filesystem::path(core).parent_path() / "backplane" / "backplane-probe";
  if (!core.empty() && ::access(path.c_str(), X_OK) == 0) return path;
  return not_found(cat("the program that tries plugins is not there or cannot be run: '", path,
                       "'; reinstall backplane, or set BACKPLANE_PROBE=off to load plugins without a trial"),
                   "probe.helper-missing");
}

std::vector<Result<ProbeVerdict>> run_probes(const std::string& helper_path, std::span<const ProbeRequest> requests,
                                             std::chrono::milliseconds limit) {
  std::vector<Result<ProbeVerdict>> verdicts(requests.size(), internal_error("not tried", "probe.spawn"));
  const size_t at_once = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMaxAtOnce);
  std::list<Running> running;
  for (size_t next = 0; next < requests.size() || !running.empty();) {
    if (next < requests.size() && running.size() < at_once) {
      Result<ProbeChild> child = ProbeChild::start(helper_path, requests[next], limit);
      if (child.ok())
        running.push_back({next, *std::move(child)});
      else
        verdicts[next] = child.status();
      ++next;
      continue;
    }
    const size_t ended = running.remove_if([&](Running& one) {
      if (!one.child.step()) return false;
      verdicts[one.index] = one.child.verdict();
      return true;
    });
    if (ended == 0) wait_for_any(running);
  }
  return verdicts;
}

}  // namespace backplane
