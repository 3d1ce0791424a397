#include "scan.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "discovery.hpp"
#include "judge.hpp"
#include "registry/elf/load_failure.hpp"
#include "registry/plugin/plugin_options.hpp"
#include "variant.hpp"

namespace backplane {
namespace {

ProbeSettings probe_settings(const RegistryOptions& options, const Configuration& configuration) {
  ProbeSettings settings;
  settings.policy = options.probe ? *options.probe : options.search_system ? configuration.probe : ProbePolicy::off;
  if (options.environment.secure()) settings.policy = ProbePolicy::off;  // nothing of the caller's may decide
  settings.limit = std::chrono::milliseconds(configuration.probe_timeout_ms);
  if (const std::string folder = options.environment.cache_folder(); !folder.empty())
    settings.cache_folder = folder + "/probe";
  settings.again = options.probe_again;
  settings.host_name = options.host_name;
  return settings;
}

TrustPolicy trust_policy(const RegistryOptions& options, const Configuration& configuration) {
  return options.environment.secure() ? TrustPolicy::strict : configuration.trust;
}

// `over` wins; objects are merged member by member.
Json merged(const Json& base, const Json& over) {
  if (!base.is(Json::Kind::object) || !over.is(Json::Kind::object)) return over;
  Json result = base;
  for (const auto& [key, value] : over.members()) {
    const Json* below = base.find(key);
    result.set(key, below ? merged(*below, value) : value);
  }
  return result;
}

std::string hint_for(std::string_view code) {
  if (code == "negotiate.id-mismatch") return "correct plugin.id in the manifest";
  if (code == "symbol.missing") return "`backplane manifest check` says what the library exports";
  return {};
}

bool has_same_path(const Taken& taken, const Candidate& candidate) {
  return taken.report.real_path == candidate.report.real_path;
}

}  // namespace

Scan::Scan(const RegistryOptions& options, const Configuration& configuration, const CpuFeatures& cpu,
           std::vector<Taken> taken, Open open)
    : options_(options),
      configuration_(configuration),
      cpu_(cpu),
      filter_(options.search_system ? PluginFilter(options.environment, configuration) : PluginFilter()),
      walk_(options.environment),
      prober_(probe_settings(options, configuration), walk_),
      open_(std::move(open)),
      taken_(std::move(taken)) {}

void Scan::run() {
  candidates_ = discover(search_path(
      {options_.plugin_paths, options_.search_system, options_.environment, configuration_.plugin_folders}));
  Judge(candidates_, {filter_, configuration_, cpu_, trust_policy(options_, configuration_)}).judge();
  for (Candidate& candidate : candidates_)
    if (candidate.waiting()) keep_active(candidate);
  for (Candidate& candidate : candidates_)
    if (candidate.waiting()) read_options(candidate);
  choose_variants(candidates_);
  const std::vector<Candidate*> chosen = choose();
  if (options_.load) {
    std::vector<Candidate*> subjects;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(subjects),
                 [&](const Candidate* candidate) { return would_be_loaded(*candidate, chosen); });
    prober_.probe(subjects);
  }
  for (Candidate* candidate : chosen) load_first_that_works(*candidate);
  dismiss_standby(candidates_);
  note_required();
}

// A file that is in use stays so, and its story with it. Another file in its place can only be used after a restart.
void Scan::keep_active(Candidate& candidate) {
  for (const Taken& taken : taken_) {
    if (!has_same_path(taken, candidate)) continue;
    if (taken.library != *candidate.library)
      return candidate.stop(LoadStage::shadowed, LoadOutcome::skipped,
                            failed_precondition(cat("'", candidate.report.real_path,
                                                    "' was replaced after it was loaded; the old one is in use"),
                                                "library.restart-needed"));
    if (taken.report.requested != candidate.report.requested) continue;
    candidate.report = taken.report;
    candidate.stopped = true;
    return;
  }
}

// The configuration's options and the application's, checked against what the manifest declares.
void Scan::read_options(Candidate& candidate) {
  const std::string& id = candidate.manifest->id;
  candidate.options = configuration_.plugin(id).options;
  if (const auto own = options_.plugin_options.find(id); own != options_.plugin_options.end())
    candidate.options = merged(candidate.options, own->second);
  std::string key;
  const auto options = PluginOptions::merge(candidate.manifest->options, candidate.options, &key);
  if (options.ok()) return;
  if (const ConfigurationEntry* entry = configuration_.find(cat("plugins.", id, ".options.", key))) {
    candidate.report.file = entry->file;
    candidate.report.line = entry->line;
    candidate.report.column = entry->column;
  }
  candidate.stop(LoadStage::validated, LoadOutcome::failed, options.status());
}

// In the order of loading: a manifest beats the note in a bare library.
std::vector<Candidate*> Scan::choose() {
  std::vector<Candidate*> chosen;
  for (const auto kind : {Candidate::Kind::manifest, Candidate::Kind::library})
    for (Candidate& candidate : candidates_)
      if (candidate.waiting() && candidate.kind == kind) chosen.push_back(&candidate);
  return chosen;
}

// Whether nothing before it would shadow it if all went well; so what is shadowed is not tried in vain.
bool Scan::would_be_loaded(const Candidate& candidate, const std::vector<Candidate*>& chosen) const {
  const auto rivals = [&](const std::string& id, const FileIdentity& library) {
    return id == candidate.manifest->id || library == *candidate.library;
  };
  for (const Taken& taken : taken_)
    if (rivals(taken.plugin_id, taken.library)) return false;
  for (const Candidate* earlier : chosen) {
    if (earlier == &candidate) return true;
    if (rivals(earlier->manifest->id, *earlier->library)) return false;
  }
  return true;
}

// Only what is in use shadows: a candidate that failed must not take an id or a library from one that works.
void Scan::shadow_duplicate(Candidate& candidate) const {
  for (const Taken& taken : taken_) {
    const std::string first = cat("'", taken.report.requested, "'");
    const std::string_view why = taken.before ? "is in use" : "comes first";
    const std::string_view hint = taken.before ? "restart the program to choose anew" : "";
    if (taken.plugin_id == candidate.manifest->id)
      return candidate.stop(
          LoadStage::shadowed, LoadOutcome::skipped,
          failed_precondition(cat(first, " has the same plugin id, '", taken.plugin_id, "', and ", why),
                              "plugin.duplicate-id"),
          hint);
    if (taken.library == *candidate.library)
      return candidate.stop(LoadStage::shadowed, LoadOutcome::skipped,
                            failed_precondition(cat(first, " names the same library and ", why), "library.duplicate"),
                            hint);
  }
}

// The candidate, or the next best variant if it fails, and so on.
void Scan::load_first_that_works(Candidate& candidate) {
  for (Candidate* next = &candidate; next; next = next_variant(candidates_, *next)) {
    if (!next->stopped) shadow_duplicate(*next);
    if (!next->stopped && !next->tried && options_.load) prober_.probe({next});  // it was in another's shadow
    if (!next->stopped) load(*next);
    if (next->report.outcome != LoadOutcome::failed) return;
  }
}

void Scan::load(Candidate& candidate) {
  const CandidateTimer timer(candidate.report);
  if (!options_.load) {
    candidate.report.stage = LoadStage::probe;
    candidate.report.outcome = LoadOutcome::eligible;
    candidate.report.code = "eligible";
    candidate.report.message = "would be loaded";
  } else if (const Status status = open_(candidate); !status.ok()) {
    const bool absent = status.id().ends_with(".no-hardware");
    LoadFailure failure = {status, hint_for(status.id())};
    if (status.id() == "dlopen.failed")
      failure = explain_load_failure(status, candidate.report.real_path, *candidate.manifest, walk_);
    return candidate.stop(candidate.report.stage, absent ? LoadOutcome::skipped : LoadOutcome::failed, failure.status,
                          failure.hint);
  }
  candidate.stopped = true;
  taken_.push_back({candidate.manifest->id, *candidate.library, candidate.report});
}

std::vector<LoadReport> Scan::take_reports() {
  std::vector<LoadReport> reports;
  for (Candidate& candidate : candidates_) reports.push_back(std::move(candidate.report));
  note_gone_files(reports);
  return reports;
}

// An active plugin is never without a report.
void Scan::note_gone_files(std::vector<LoadReport>& reports) const {
  for (const Taken& taken : taken_) {
    const bool told = std::any_of(reports.begin(), reports.end(), [&](const LoadReport& report) {
      return report.outcome == LoadOutcome::active && report.requested == taken.report.requested;
    });
    if (told || !taken.before) continue;
    reports.push_back(taken.report);
    reports.back().notes.push_back("its file is gone or has changed since it was loaded");
  }
}

void Scan::note_required() {
  for (const auto& [id, own] : configuration_.plugins) {
    const std::string& wanted = id;
    if (own.required != true) continue;
    if (std::any_of(taken_.begin(), taken_.end(), [&](const Taken& taken) { return taken.plugin_id == wanted; }))
      continue;
    const auto story = std::find_if(candidates_.begin(), candidates_.end(),
                                    [&](const Candidate& candidate) { return candidate.report.plugin_id == wanted; });
    const ConfigurationEntry* entry = configuration_.find(cat("plugins.", id, ".required"));
    notices_.push_back({Severity::error, "plugin.required",
                        cat("the plugin '", id, "' is required but not there: ",
                            story == candidates_.end() ? "it was not found" : story->report.message),
                        cat("`backplane doctor ", id, "` tells more"), entry ? entry->file : "",
                        entry ? entry->line : 0, entry ? entry->column : 0});
  }
}

std::vector<Notice> Scan::take_notices() {
  std::vector<Notice> all;
  const auto append = [&](std::vector<Notice> more) {
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (options_.search_system) append(options_.environment.notices());
  append(configuration_.notices);
  append(filter_.notices());
  append(prober_.take_notices());
  append(std::move(notices_));
  return all;
}

}  // namespace backplane
