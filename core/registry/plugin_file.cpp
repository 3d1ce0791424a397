#include "backplane/registry/plugin_file.hpp"

#include <filesystem>

#include "backplane/base/json.hpp"
#include "backplane/base/text.hpp"
#include "backplane/registry/cpu_features.hpp"
#include "registry/elf/dependency_walk.hpp"
#include "registry/elf/plugin_lint.hpp"
#include "registry/elf/shared_object.hpp"
#include "registry/manifest/manifest.hpp"
#include "registry/scan/pin.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

std::string missing_text(const MissingLibrary& missing) {
  std::vector<std::string> names;
  for (const std::string& path : missing.chain) names.push_back(fs::path(path).filename().string());
  return cat(missing.soname, ", wanted by ", join(names, " -> "), ": ", missing.reason);
}

Notice notice_of(Severity severity, const Status& status, std::string hint = {}) {
  return {severity, status.id(), status.message(), std::move(hint), "", 0, 0};
}

// Gathers what is wrong with one plugin's files.
class Checker {
 public:
  explicit Checker(const Environment& environment) : environment_(environment) {}

  PluginFileCheck check(const std::string& path) {
    const Result<RegularFile> file = RegularFile::open(path);
    if (!file)
      add(Severity::error, file.status());
    else if (to_lower(path).ends_with(".json"))
      check_manifest(path, *file);
    else
      check_bare(path, *file);
    return std::move(check_);
  }

 private:
  void add(Severity severity, const Status& status, std::string hint = {}) {
    check_.notices.push_back(notice_of(severity, status, std::move(hint)));
  }

  void check_manifest(const std::string& path, const RegularFile& file) {
    const Result<std::string> text = file.read_text(kManifestMaxBytes);
    if (!text) return add(Severity::error, text.status().with_context(path));
    JsonFault fault;
    const std::optional<Manifest> manifest = adopt(parse_manifest(*text, path, &fault), path, fault);
    if (!manifest) return;
    const std::string folder = fs::path(real_path(path)).parent_path().string();
    const Result<std::string> library = library_path(*manifest, folder);
    if (!library) return add(Severity::warning, library.status());
    check_library(*library, *manifest);
  }

  void check_bare(const std::string& path, const RegularFile& file) {
    const Result<SharedObject> object = SharedObject::read(file);
    if (!object) return add(Severity::error, object.status().with_context(path));
    if (object->manifest.empty())
      return add(Severity::error,
                 failed_precondition(cat("'", path, "' has no manifest embedded"), "library.no-manifest"),
                 "build it with backplane_add_plugin(), or write a manifest: `backplane manifest new`");
    JsonFault fault;
    const std::optional<Manifest> manifest =
        adopt(parse_embedded_manifest(object->manifest, path, &fault), path, fault);
    if (manifest) check_library(path, *manifest);
  }

  std::optional<Manifest> adopt(Result<Manifest> manifest, const std::string& path, const JsonFault& fault) {
    if (!manifest) {
      check_.notices.push_back(
          {Severity::error, manifest.status().id(), manifest.status().message(), "", path, fault.line, fault.column});
      return std::nullopt;
    }
    check_.plugin_id = manifest->id;
    for (const std::string& key : manifest->notes)
      add(Severity::info,
          Status(Code::unimplemented, cat("'", key, "' is of a newer format and passed over"), "manifest.newer"));
    return std::move(*manifest);
  }

  void check_library(const std::string& path, const Manifest& manifest) {
    const Result<RegularFile> file = RegularFile::open(path);
    if (!file) return add(Severity::error, file.status(), "plugin.library_path must name the library");
    check_.library_path = real_path(path);
    const Result<SharedObject> object = SharedObject::read(*file);
    if (!object) return add(Severity::error, object.status().with_context(path));
    if (const Status status = check_pin(*file, manifest.sha256, "the manifest"); !status.ok())
      add(Severity::error, status);
    if (manifest.abi_min > BP_ABI_VERSION || manifest.abi_max < BP_ABI_VERSION)
      add(Severity::error,
          failed_precondition(cat("it speaks ABI ", abi_text(manifest.abi_min), " to ", abi_text(manifest.abi_max),
                                  ", this version ", abi_text(BP_ABI_VERSION)),
                              "negotiate.incompatible"));
    if (const auto missing = CpuFeatures::detect().missing(manifest.cpu); !missing.empty())
      add(Severity::warning,
          failed_precondition(cat("this processor lacks ", join(missing, ", ")), "cpu.missing-feature"));
    for (const MissingLibrary& missing : DependencyWalk(environment_).walk(check_.library_path).missing)
      add(Severity::error, not_found(missing_text(missing), "dlopen.missing-library"));
    Result<std::vector<Notice>> findings = lint_plugin(check_.library_path, manifest.entry_point);
    if (!findings) return add(Severity::error, findings.status());
    for (Notice& finding : *findings) check_.notices.push_back(std::move(finding));
  }

  const Environment& environment_;
  PluginFileCheck check_;
};

// An id made of a file name: "libfast-gpu.so" -> "fast-gpu".
std::string id_from_name(const std::string& path) {
  std::string stem = to_lower(fs::path(path).stem().string());
  if (stem.starts_with("lib")) stem.erase(0, 3);
  for (char& c : stem)
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-') c = '-';
  return stem;
}

}  // namespace

Result<LibraryFacts> inspect_library(const std::string& path, const Environment& environment) {
  LibraryFacts facts;
  facts.real_path = real_path(path);
  BP_TRY_ASSIGN(const RegularFile file, RegularFile::open(facts.real_path));
  BP_TRY_ASSIGN(SharedObject object, SharedObject::read(file));
  BP_TRY_ASSIGN(facts.sha256, file_digest(file));
  facts.bytes = file.bytes();
  facts.soname = std::move(object.soname);
  facts.build_id = std::move(object.build_id);
  facts.needed = std::move(object.needed);
  facts.rpath = std::move(object.rpath);
  facts.runpath = std::move(object.runpath);
  facts.manifest = std::move(object.manifest);
  DependencyClosure closure = DependencyWalk(environment).walk(facts.real_path);
  facts.dependencies = std::move(closure.files);
  for (const MissingLibrary& missing : closure.missing) facts.missing.push_back(missing_text(missing));
  return facts;
}

PluginFileCheck check_plugin_file(const std::string& path, const Environment& environment) {
  return Checker(environment).check(path);
}

Result<std::string> new_manifest(const std::string& library, const std::string& id, bool pin) {
  BP_TRY_ASSIGN(const LibraryFacts facts, inspect_library(library, Environment::process()));
  Json plugin = Json::object();
  if (!facts.manifest.empty()) {
    BP_TRY_ASSIGN(const Json embedded, parse_json(facts.manifest, cat(library, " (embedded manifest)")));
    if (const Json* own = embedded.find("plugin"); own && own->is(Json::Kind::object)) plugin = *own;
  }
  if (!id.empty() || !plugin.find("id")) plugin.set("id", Json::text(id.empty() ? id_from_name(library) : id));
  plugin.set("library_path", Json::text(fs::path(facts.real_path).filename().string()));
  if (!plugin.find("abi")) {
    const Json version = Json::text(abi_text(BP_ABI_VERSION));
    plugin.set("abi", Json::object({{"min", version}, {"max", version}}));
  }
  if (pin) plugin.set("sha256", Json::text(facts.sha256));
  const Json manifest = Json::object({{"file_format_version", Json::text("1.0")}, {"plugin", std::move(plugin)}});
  const std::string text = manifest.dump() + "\n";
  BP_TRY(parse_manifest(text, "the new manifest").status());
  return text;
}

}  // namespace backplane
