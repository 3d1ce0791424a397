#include "prober.hpp"

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

ProbeRequest make_request(const Candidate& candidate, const std::string& host_name) {
  const Manifest& manifest = *candidate.manifest;
  ProbeRequest request;
  request.library_path = candidate.report.real_path;
  request.plugin_id = manifest.id;
  request.entry_point = manifest.entry_point;
  request.default_options = manifest.options;
  request.options = candidate.options;
  request.host_name = host_name;
  return request;
}

}  // namespace

Prober::Prober(ProbeSettings settings, DependencyWalk& walk)
    : settings_(std::move(settings)),
      walk_(walk),
      cache_(settings_.policy == ProbePolicy::cached ? settings_.cache_folder : "") {}

void Prober::probe(const std::vector<Candidate*>& candidates) {
  for (Candidate* candidate : candidates) candidate->tried = true;
  if (settings_.policy == ProbePolicy::off) return;
  std::vector<Trial> trials;
  for (Candidate* candidate : candidates) {
    const CandidateTimer timer(candidate->report);
    Trial trial = {candidate, make_request(*candidate, settings_.host_name),
                   walk_.walk(candidate->report.real_path).fingerprint};
    if (!recall(trial)) trials.push_back(std::move(trial));
  }
  if (!trials.empty()) run(trials);
}

bool Prober::recall(const Trial& trial) {
  const Result<RegularFile> library = RegularFile::open(trial.request.library_path);
  if (!library) return false;
  const std::optional<ProbeVerdict> verdict = cache_.find(trial.request, *library, trial.dependencies);
  if (!verdict || (verdict->deadly() && settings_.again)) return false;
  apply(*trial.candidate, *verdict, true);
  return true;
}

void Prober::run(const std::vector<Trial>& trials) {
  const Result<std::string> helper = probe_helper_path();
  if (!helper) {
    if (notices_.empty())
      notices_.push_back({Severity::warning, helper.status().id(),
                          cat("plugins are loaded without a trial: ", helper.status().message()),
                          "install the helper, or set probe to off in the configuration", "", 0, 0});
    return;
  }
  std::vector<ProbeRequest> requests;
  for (const Trial& trial : trials) requests.push_back(trial.request);
  const std::vector<Result<ProbeVerdict>> verdicts = run_probes(*helper, requests, settings_.limit);
  for (size_t i = 0; i < trials.size(); ++i) {
    Candidate& candidate = *trials[i].candidate;
    if (!verdicts[i]) {
      candidate.stop(LoadStage::probe, LoadOutcome::failed, verdicts[i].status(), "try again; see ulimit -a");
      continue;
    }
    candidate.report.elapsed_ns += verdicts[i]->elapsed_ns;
    const Result<RegularFile> library = RegularFile::open(trials[i].request.library_path);
    if (library && library->identity() == candidate.library)
      cache_.store(trials[i].request, *library, trials[i].dependencies, *verdicts[i]);
    apply(candidate, *verdicts[i], false);
  }
}

void Prober::apply(Candidate& candidate, const ProbeVerdict& verdict, bool remembered) const {
  if (!verdict.deadly()) return;
  candidate.report.output = verdict.output;
  if (verdict.end == ProbeVerdict::End::crashed) candidate.report.signal = verdict.number;
  Status status = probe_failure(verdict, settings_.limit);
  if (remembered) status = Status(status.code(), cat(status.message(), " (an earlier trial)"), status.id());
  candidate.stop(
      LoadStage::probe, LoadOutcome::failed, status,
      cat("tell the plugin's author; `backplane doctor --retry ", candidate.manifest->id, "` tries it again"));
}

}  // namespace backplane
