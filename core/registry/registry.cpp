#include "registry.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "candidate.hpp"
#include "discovery.hpp"
#include "manifest.hpp"
#include "plugin_filter.hpp"
#include "shared_object.hpp"
#include "variant.hpp"

namespace backplane {
namespace {

constexpr std::string_view kTopic = "registry";

std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// Everything that is judged without running code of a plugin. The stages are applied to all candidates in turn, so
// that no verdict depends on how another candidate's loading goes.
class Judge {
 public:
  Judge(std::vector<Candidate>& candidates, const PluginFilter& filter, const CpuFeatures& cpu)
      : candidates_(candidates), filter_(filter), cpu_(cpu) {}

  void judge() {
    for_each(&Judge::parse);
    settle_bare_libraries();
    for_each(&Judge::filter);
    for_each(&Judge::check_library);
    for_each(&Judge::check_cpu);
    for_each(&Judge::check_abi);
    choose_variants(candidates_);
  }

 private:
  void for_each(void (Judge::*stage)(Candidate&)) {
    for (Candidate& candidate : candidates_) {
      if (candidate.stopped) continue;
      const CandidateTimer timer(candidate.report);
      (this->*stage)(candidate);
    }
  }

  void parse(Candidate& candidate);
  void settle_bare_libraries();
  void filter(Candidate& candidate);
  void check_library(Candidate& candidate);
  void check_cpu(Candidate& candidate);
  void check_abi(Candidate& candidate);

  std::vector<Candidate>& candidates_;
  const PluginFilter& filter_;
  const CpuFeatures& cpu_;
  std::set<FileIdentity> named_;  // libraries that a manifest names, for whatever platform
};

void Judge::parse(Candidate& candidate) {
  if (candidate.kind == Candidate::Kind::library) return;
  LoadReport& report = candidate.report;
  JsonFault fault;
  Result<Manifest> manifest = parse_manifest(candidate.text, report.requested, &fault);
  if (!manifest) {
    report.file = report.requested;
    report.line = fault.line;
    report.column = fault.column;
    return candidate.stop(LoadStage::parsed, LoadOutcome::failed, manifest.status());
  }
  report.plugin_id = manifest->id;
  report.stage = LoadStage::validated;
  for (const ManifestLibrary& library : manifest->libraries) {
    const Result<std::string> path = library_path(*manifest, candidate.folder, library.platform);
    const Result<RegularFile> file = path ? RegularFile::open(*path) : Result<RegularFile>(path.status());
    if (file) named_.insert(file->identity());
  }
  candidate.manifest = std::move(*manifest);
}

// A library that has a manifest is told of in that manifest's report; one without is not a plugin.
void Judge::settle_bare_libraries() {
  std::erase_if(candidates_, [this](const Candidate& candidate) {
    return candidate.kind == Candidate::Kind::library && !candidate.stopped && named_.contains(candidate.file);
  });
  for (Candidate& candidate : candidates_) {
    if (candidate.kind == Candidate::Kind::manifest || candidate.stopped) continue;
    candidate.report.library_path = candidate.report.requested;
    candidate.report.real_path = real_path(candidate.report.requested);
    candidate.stop(LoadStage::parsed, LoadOutcome::skipped,
                   failed_precondition(cat("not a plugin: no manifest names '", candidate.report.requested, "'"),
                                       "library.no-manifest"),
                   "if it is a plugin, put its manifest, a .json file, beside it");
  }
}

void Judge::filter(Candidate& candidate) {
  const std::string file_name = std::filesystem::path(candidate.report.requested).filename().string();
  const Status status = filter_.check(candidate.manifest->id, file_name);
  if (!status.ok()) candidate.stop(LoadStage::filtered, LoadOutcome::skipped, status);
}

void Judge::check_library(Candidate& candidate) {
  LoadReport& report = candidate.report;
  const Result<std::string> path = library_path(*candidate.manifest, candidate.folder);
  if (!path) return candidate.stop(LoadStage::arch, LoadOutcome::skipped, path.status());
  report.library_path = *path;
  report.real_path = real_path(*path);
  const Result<RegularFile> file = RegularFile::open(report.real_path, &report.system_error);
  if (!file)
    return candidate.stop(LoadStage::arch, LoadOutcome::failed,
                          file.status().with_context(cat("the library that '", report.requested, "' names")),
                          "install the library, or correct plugin.library_path in the manifest");
  candidate.library = file->identity();
  if (report.real_path == core_library_path())
    return candidate.stop(LoadStage::arch, LoadOutcome::failed,
                          failed_precondition("the manifest names the core library itself", "library.self"));
  const Status status = SharedObject::read(*file).status().with_context(report.real_path);
  if (!status.ok())
    candidate.stop(LoadStage::arch, LoadOutcome::failed, status,
                   status.id() == "elf.truncated" ? "copy the library again, in full" : "");
}

void Judge::check_cpu(Candidate& candidate) {
  const std::vector<std::string> missing = cpu_.missing(candidate.manifest->cpu);
  if (missing.empty()) return;
  std::string message = cat("this processor lacks ", join(missing, ", "), ", which the plugin requires");
  const auto& known = CpuFeatures::known_names();
  for (const std::string& name : missing)
    if (std::find(known.begin(), known.end(), name) == known.end()) message += did_you_mean(name, known);
  candidate.stop(LoadStage::cpu, LoadOutcome::skipped, failed_precondition(message, "cpu.missing-feature"));
}

// Before the choice among variants and duplicates: what cannot be loaded must not stand in the way of what can.
void Judge::check_abi(Candidate& candidate) {
  const Manifest& manifest = *candidate.manifest;
  if (manifest.abi_min <= BP_ABI_VERSION && manifest.abi_max >= BP_ABI_VERSION) return;
  candidate.stop(LoadStage::negotiate, LoadOutcome::failed,
                 failed_precondition(cat("the manifest says ABI ", abi_text(manifest.abi_min), " to ",
                                         abi_text(manifest.abi_max), "; this host speaks ", abi_text(BP_ABI_VERSION)),
                                     "negotiate.incompatible"));
}

// How to get the dependency that the loader's text complains of, if the manifest knows.
std::string dependency_hint(const Manifest& manifest, const std::string& message) {
  for (const ManifestDependency& dependency : manifest.dependencies)
    if (message.find(dependency.soname) != std::string::npos) return dependency.hint;
  return {};
}

void log_report(const Logger& log, const LoadReport& report) {
  const LogLevel level = report.outcome == LoadOutcome::failed    ? LogLevel::warn
                         : report.outcome == LoadOutcome::skipped ? LogLevel::debug
                                                                  : LogLevel::info;
  if (!log.enabled(level, kTopic)) return;
  log.write(level, kTopic,
            cat(report.requested, ": ", outcome_name(report.outcome), " at ", stage_name(report.stage), " [",
                report.code, "] ", report.message));
}

}  // namespace

Registry::Registry(RegistryOptions options, const Logger& log, Workers& workers)
    : options_(std::move(options)), log_(log), host_(log, workers, options_.on_device_event) {
  const CpuFeatures cpu = options_.cpu_features ? *options_.cpu_features : CpuFeatures::detect();
  const PluginFilter filter = options_.search_system ? PluginFilter(options_.environment) : PluginFilter();
  std::vector<Candidate> candidates =
      discover(search_path({options_.plugin_paths, options_.search_system, options_.environment}));
  Judge(candidates, filter, cpu).judge();
  for (Candidate& candidate : candidates) {
    if (!candidate.stopped) shadow_duplicate(candidate);
    if (!candidate.stopped) load(candidate);
    log_report(log_, candidate.report);
    reports_.push_back(std::move(candidate.report));
  }
}

// The last opened is closed first.
Registry::~Registry() {
  while (!plugins_.empty()) plugins_.pop_back();
}

// Only what is active shadows: a candidate that failed must not take an id or a library from one that works.
void Registry::shadow_duplicate(Candidate& candidate) {
  const CandidateTimer timer(candidate.report);
  for (const Active& active : active_) {
    const std::string first = cat("'", active.manifest, "'");
    if (active.plugin_id == candidate.manifest->id)
      return candidate.stop(
          LoadStage::shadowed, LoadOutcome::skipped,
          failed_precondition(cat(first, " has the same plugin id, '", active.plugin_id, "', and comes first"),
                              "plugin.duplicate-id"));
    if (active.library == *candidate.library)
      return candidate.stop(
          LoadStage::shadowed, LoadOutcome::skipped,
          failed_precondition(cat(first, " names the same library and comes first"), "library.duplicate"));
  }
}

void Registry::load(Candidate& candidate) {
  const CandidateTimer timer(candidate.report);
  const auto own = options_.plugin_options.find(candidate.manifest->id);
  const Json none = Json::object();
  const PluginSource source = {*candidate.manifest, candidate.report.real_path,
                               *candidate.library,  own == options_.plugin_options.end() ? none : own->second,
                               options_.host_name,  host_};
  Result<std::unique_ptr<Plugin>> plugin = Plugin::load(source, &candidate.report.stage);
  if (!plugin) {
    const bool absent = plugin.status().id().ends_with(".no-hardware");
    return candidate.stop(candidate.report.stage, absent ? LoadOutcome::skipped : LoadOutcome::failed, plugin.status(),
                          dependency_hint(*candidate.manifest, plugin.status().message()));
  }
  candidate.report.outcome = LoadOutcome::active;
  candidate.report.code = "ok";
  candidate.report.message = cat("version ", (*plugin)->version());
  candidate.report.device_count = static_cast<uint32_t>((*plugin)->devices().size());
  plugins_.push_back(std::move(*plugin));
  active_.push_back({candidate.manifest->id, *candidate.library, candidate.report.requested});
}

void Registry::reject(const Plugin& plugin, const Status& status) {
  for (LoadReport& report : reports_) {
    if (report.outcome != LoadOutcome::active || report.plugin_id != plugin.id()) continue;
    report.stage = LoadStage::enumerate;
    report.outcome = LoadOutcome::failed;
    report.code = status.id();
    report.message = status.message();
    report.device_count = 0;
    log_report(log_, report);
  }
  std::erase_if(plugins_, [&](const auto& own) { return own.get() == &plugin; });
}

}  // namespace backplane
