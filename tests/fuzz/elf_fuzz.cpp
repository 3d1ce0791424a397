// Fuzzes what reads the system's binary files: SharedObject::read, lint_plugin and LibraryCache::read. The input is the
// file, a library or an ld.so.cache.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/text.hpp"
#include "core/registry/elf/memory_file.hpp"
#include "property.hpp"
#include "registry/elf/library_cache.hpp"
#include "registry/elf/plugin_lint.hpp"
#include "registry/elf/shared_object.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {
namespace {

constexpr std::string_view kElfIds[] = {"magic",   "truncated", "class", "byte-order",
                                        "machine", "type",      "pie",   "malformed"};
constexpr std::string_view kLints[] = {"no-entry-point",  "exported-symbol",  "unique-symbol", "executable-stack",
                                       "text-relocation", "absolute-runpath", "no-origin",     "no-build-id"};
constexpr size_t kMaxSonames = 32;

std::string facts_of(const Result<SharedObject>& object) {
  if (!object) return cat(object.status().to_string(), " ", object.status().id());
  return cat(object->soname, '\n', join(object->needed, "\n"), "\nrpath ", join(object->rpath, ":"), "\nrunpath ",
             join(object->runpath, ":"), '\n', object->default_folders ? "" : "nodefaultlib ", object->build_id, '\n',
             object->manifest);
}

void require_sound(const SharedObject& object) {
  require(object.needed.size() <= 1024, "the libraries that are needed are counted");
  std::vector<std::string> texts = object.needed;
  texts.push_back(object.soname);
  for (const auto* folders : {&object.rpath, &object.runpath})
    for (const std::string& folder : *folders) {
      require(folder.find(':') == std::string::npos, "search paths are split");
      texts.push_back(folder);
    }
  for (const std::string& text : texts) require(text.find('\0') == std::string::npos, "texts end at their NUL");
  require(object.build_id.empty() || consists_of(object.build_id, "0123456789abcdef", 128),
          "a build id is hexadecimal");
  require(object.manifest.size() <= kManifestMaxBytes, "a manifest has its cap");
}

// Every lint once, in the order of their documentation.
void require_lints(const std::vector<Notice>& notices) {
  auto next = std::begin(kLints);
  for (const Notice& notice : notices) {
    next = std::find(next, std::end(kLints), std::string_view(notice.code).substr(std::string_view("lint.").size()));
    require(next != std::end(kLints), cat("'", notice.code, "' is a lint, in its place"));
    require((notice.severity == Severity::error) == (*next == "no-entry-point"), "one lint is an error");
    require(!notice.message.empty() && !notice.hint.empty(), "a lint says what to do");
    ++next;
  }
}

void check_library(const std::string& path) {
  const Result<RegularFile> file = RegularFile::open(path);
  require(file.ok(), "a file in memory can be opened");
  const Result<SharedObject> object = SharedObject::read(*file);
  require(facts_of(SharedObject::read(*file)) == facts_of(object), "reading twice gives the same");
  const Result<std::vector<Notice>> lints = lint_plugin(path);
  if (!object) {
    require_refusal(object.status(), Code::failed_precondition, "elf", kElfIds);
    return require(lints.status().id() == object.status().id(), "what cannot be read cannot be examined");
  }
  require_sound(*object);
  if (!object->manifest.empty()) {
    const Result<Manifest> manifest = parse_embedded_manifest(object->manifest, path);
    require(manifest.ok() || manifest.status().id().starts_with("manifest."), "an embedded manifest is judged");
  }
  if (lints)
    require_lints(*lints);
  else
    require_refusal(lints.status(), Code::failed_precondition, "elf", kElfIds);
}

// Asks for every text of the file, for the names are among them.
void check_cache(const std::string& path, std::string_view bytes) {
  const LibraryCache cache = LibraryCache::read(path);
  for (size_t i = 0; i < kMaxSonames && !bytes.empty(); ++i) {
    const size_t begin = std::min(bytes.find_last_of('\0'), bytes.size() - 1);
    for (const std::string& target : cache.find(bytes.substr(begin + 1)))
      require(target.starts_with('/') && target.find('\0') == std::string::npos, "a library's path is absolute");
    bytes = bytes.substr(0, begin);
  }
}

}  // namespace
}  // namespace backplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const backplane::MemoryFile file(bytes);
  backplane::check_library(file.path());
  backplane::check_cache(file.path(), bytes);
  return 0;
}
