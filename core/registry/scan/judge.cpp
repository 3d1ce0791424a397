#include "judge.hpp"

#include <algorithm>
#include <filesystem>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "pin.hpp"
#include "trust.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

// The folder and the name by which a manifest and a library belong together: /x/toy.json and /x/libtoy.so.
std::string family(const std::string& path) {
  std::string stem = fs::path(path).stem().string();
  if (stem.starts_with("lib")) stem.erase(0, 3);
  return cat(fs::path(path).parent_path().string(), "/", stem);
}

}  // namespace

Judge::Judge(std::vector<Candidate>& candidates, const Rules& rules) : candidates_(candidates), rules_(rules) {
  if (const auto program = RegularFile::open("/proc/self/exe"))
    own_[program->identity()] = "the program that is running";
  if (const auto core = RegularFile::open(core_library_path())) own_[core->identity()] = "the core library itself";
}

void Judge::judge() {
  for_each(&Judge::parse);
  settle_bare_libraries();
  for_each(&Judge::filter);
  for_each(&Judge::check_library);
  for_each(&Judge::check_cpu);
  for_each(&Judge::check_abi);
  for_each(&Judge::check_trust);
  for_each(&Judge::check_pins);
}

void Judge::for_each(void (Judge::*stage)(Candidate&)) {
  for (Candidate& candidate : candidates_) {
    if (candidate.stopped) continue;
    const CandidateTimer timer(candidate.report);
    (this->*stage)(candidate);
  }
}

void Judge::parse(Candidate& candidate) {
  if (candidate.kind == Candidate::Kind::manifest)
    parse_file(candidate);
  else
    parse_embedded(candidate);
}

void Judge::adopt(Candidate& candidate, Manifest manifest) {
  candidate.report.plugin_id = manifest.id;
  candidate.report.version = manifest.version;
  candidate.report.stage = LoadStage::validated;
  for (const std::string& key : manifest.notes)
    candidate.report.notes.push_back(cat("the manifest is of a newer format; its '", key, "' was passed over"));
  candidate.manifest = std::move(manifest);
}

void Judge::parse_file(Candidate& candidate) {
  LoadReport& report = candidate.report;
  JsonFault fault;
  Result<Manifest> manifest = parse_manifest(candidate.text, report.requested, &fault);
  if (!manifest) {
    report.file = report.requested;
    report.line = fault.line;
    report.column = fault.column;
    broken_.insert(family(report.requested));
    return candidate.stop(LoadStage::parsed, LoadOutcome::failed, manifest.status());
  }
  for (const ManifestLibrary& library : manifest->libraries) {
    const Result<std::string> path = library_path(*manifest, candidate.folder, library.platform);
    const Result<RegularFile> file = path ? RegularFile::open(*path) : Result<RegularFile>(path.status());
    if (file) named_.insert(file->identity());
  }
  adopt(candidate, std::move(*manifest));
}

// A bare library speaks for itself, in an ELF note. One that cannot be read is judged with the others' libraries.
void Judge::parse_embedded(Candidate& candidate) {
  LoadReport& report = candidate.report;
  report.library_path = report.requested;
  report.real_path = real_path(report.requested);
  const Result<RegularFile> file = RegularFile::open(report.real_path, &report.system_error);
  const Result<SharedObject> object = file ? SharedObject::read(*file) : Result<SharedObject>(file.status());
  if (!object || object->manifest.empty()) return;
  JsonFault fault;
  Result<Manifest> manifest = parse_embedded_manifest(object->manifest, report.real_path, &fault);
  if (!manifest) {
    report.file = report.requested;
    report.line = fault.line;
    report.column = fault.column;
    return candidate.stop(LoadStage::parsed, LoadOutcome::failed, manifest.status(), "build the plugin again");
  }
  adopt(candidate, std::move(*manifest));
}

// A library that has a manifest is told of in that manifest's report; one without any is not a plugin.
void Judge::settle_bare_libraries() {
  std::erase_if(candidates_, [this](const Candidate& candidate) {
    return candidate.kind == Candidate::Kind::library && named_.contains(candidate.file);
  });
  for (Candidate& candidate : candidates_) {
    if (candidate.kind == Candidate::Kind::manifest || candidate.stopped) continue;
    if (broken_.contains(family(candidate.report.requested)))
      candidate.stop(LoadStage::parsed, LoadOutcome::skipped,
                     failed_precondition("the manifest beside the library is broken", "library.broken-manifest"));
    else if (!candidate.manifest)
      candidate.stop(LoadStage::parsed, LoadOutcome::skipped,
                     failed_precondition(cat("not a plugin: no manifest names '", candidate.report.requested,
                                             "', and none is embedded in it"),
                                         "library.no-manifest"));
  }
}

void Judge::filter(Candidate& candidate) {
  const std::string file_name = fs::path(candidate.report.requested).filename().string();
  const Status status = rules_.filter.check(candidate.manifest->id, file_name);
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
  if (const auto own = own_.find(file->identity()); own != own_.end())
    return candidate.stop(LoadStage::arch, LoadOutcome::failed,
                          failed_precondition(cat("the manifest names ", own->second), "library.self"));
  const Status status = SharedObject::read(*file).status().with_context(report.real_path);
  const bool foreign = status.id() == "elf.machine" || status.id() == "elf.class" || status.id() == "elf.byte-order";
  if (!status.ok()) candidate.stop(LoadStage::arch, foreign ? LoadOutcome::skipped : LoadOutcome::failed, status);
}

void Judge::check_cpu(Candidate& candidate) {
  const std::vector<std::string> missing = rules_.cpu.missing(candidate.manifest->cpu);
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
  const bool older = manifest.abi_max < BP_ABI_VERSION;
  candidate.stop(LoadStage::negotiate, LoadOutcome::failed,
                 failed_precondition(cat("the manifest says ABI ", abi_text(manifest.abi_min), " to ",
                                         abi_text(manifest.abi_max), "; this host speaks ", abi_text(BP_ABI_VERSION)),
                                     "negotiate.incompatible"),
                 older ? "install a newer version of the plugin" : "install a newer version of Backplane");
}

void Judge::check_trust(Candidate& candidate) {
  Status status = backplane::check_trust(candidate.report.real_path);
  if (status.ok() && candidate.kind == Candidate::Kind::manifest)
    status = backplane::check_trust(real_path(candidate.report.requested));
  if (status.ok()) return;
  if (rules_.trust == TrustPolicy::normal)
    candidate.report.notes.push_back(cat("not trustworthy: ", status.message()));
  else
    candidate.stop(LoadStage::trust, LoadOutcome::failed, status);
}

void Judge::check_pins(Candidate& candidate) {
  const std::string& own = candidate.manifest->sha256;
  const std::string& configured = rules_.configuration.plugin(candidate.manifest->id).sha256;
  if (own.empty() && configured.empty()) return;
  const Result<RegularFile> file = RegularFile::open(candidate.report.real_path, &candidate.report.system_error);
  Status status = file.status();
  if (status.ok()) status = check_pin(*file, own, cat("the manifest '", candidate.report.requested, "'"));
  if (status.ok()) status = check_pin(*file, configured, "the configuration");
  if (!status.ok()) candidate.stop(LoadStage::pin, LoadOutcome::failed, status);
}

}  // namespace backplane
