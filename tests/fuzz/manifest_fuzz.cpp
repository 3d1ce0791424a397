// Fuzzes parse_manifest and parse_embedded_manifest: the input is the text of a manifest.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backplane/base/text.hpp"
#include "property.hpp"
#include "registry/manifest/manifest.hpp"

namespace backplane {
namespace {

constexpr std::string_view kFile = "fuzz.json", kLibrary = "/plugins/fuzz.so";
constexpr std::string_view kPlace = "/plugins/fuzz.so (embedded manifest)";  // of the embedded one, in messages
constexpr std::string_view kIds[] = {"path"};
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kIdLetters = "abcdefghijklmnopqrstuvwxyz0123456789._-";
constexpr std::string_view kPlatformLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

std::string facts_of(const Manifest& manifest) {
  std::string text = cat(manifest.id, '\n', manifest.display_name, '\n', manifest.version, '\n', manifest.entry_point,
                         '\n', abi_text(manifest.abi_min), ' ', abi_text(manifest.abi_max), '\n', manifest.sha256, '\n',
                         join(manifest.cpu, "\n"), '\n', manifest.options.dump(), '\n');
  for (const ManifestLibrary& library : manifest.libraries) text += cat(library.platform, '=', library.path, '\n');
  for (const ManifestDependency& one : manifest.dependencies) text += cat(one.soname, ' ', one.hint, '\n');
  if (manifest.variant) text += cat(manifest.variant->group, ' ', manifest.variant->rank, '\n');
  return text + join(manifest.notes, "\n");
}

std::string facts_of(const Result<Manifest>& manifest) {
  return manifest ? facts_of(*manifest) : cat(manifest.status().to_string(), " ", manifest.status().id());
}

void require_id(std::string_view id) {
  require(consists_of(id, kIdLetters, 64), cat("'", id, "' is a plugin id"));
  require(std::string_view("._-").find(id.front()) == std::string_view::npos, "an id starts with a letter or digit");
  require(std::string_view("._-").find(id.back()) == std::string_view::npos, "an id ends with a letter or digit");
}

void require_options(const Json& options) {
  require(options.is(Json::Kind::object), "options are an object");
  for (const auto& [name, value] : options.members()) {
    require(consists_of(name, kNameLetters, 64), cat("'", name, "' is an option's name"));
    require(!value.is(Json::Kind::null), "an option has a default");
    if (value.is(Json::Kind::object)) require_options(value);
  }
}

void require_libraries(const Manifest& manifest) {
  require(!manifest.libraries.empty(), "a manifest names a library");
  bool is_here = false;
  for (const auto& [platform, path] : manifest.libraries) {
    require(platform.empty() || consists_of(platform, kPlatformLetters, SIZE_MAX), cat("'", platform, "' fits"));
    require(!path.empty() && path.size() < 4096 && path.back() != '/', "a path names a file");
    require(path.find('\0') == std::string::npos && path.find('$') == std::string::npos && path.front() != '~',
            "a path is meant as it is written");
    is_here |= platform.empty() || platform == current_platform();
  }
  const Result<std::string> chosen = library_path(manifest, "/folder");
  require(chosen.ok() == is_here, "the library of this platform is found");
  require(chosen.ok() ? chosen->front() == '/' : chosen.status().id() == "manifest.platform",
          "the chosen library is absolute");
}

void require_sound(const Manifest& manifest) {
  require_id(manifest.id);
  require_libraries(manifest);
  require(manifest.entry_point.size() <= 128 && kDigits.find(manifest.entry_point.front()) == std::string_view::npos &&
              consists_of(manifest.entry_point, kNameLetters.substr(0, kNameLetters.size() - 1), 128),
          "the entry point is a C name");
  require(manifest.abi_min <= manifest.abi_max, "the range of ABI versions is not empty");
  require(
      manifest.sha256.empty() || (consists_of(manifest.sha256, "0123456789abcdef", 64) && manifest.sha256.size() == 64),
      "a hash is 64 digits");
  if (manifest.variant) require_id(manifest.variant->group);
  for (const ManifestDependency& one : manifest.dependencies)
    require(!one.soname.empty() && one.soname.find('/') == std::string::npos, "a soname has no folders");
  for (const std::string& text : manifest.cpu) require(!text.empty(), "no feature is empty");
  require_options(manifest.options);
}

// What is understood of a document does not hang on how it is written.
void require_same_rewritten(std::string_view text, const Manifest& manifest) {
  const Result<Json> json = parse_json(text, kFile);
  require(json.ok(), "an accepted manifest is JSON");
  const Json* version = json->find("file_format_version");
  require(manifest.notes.empty() || version->as_text() != "1.0", "only newer files have keys that are passed over");
  for (const int indent : {-1, 2})
    require(facts_of(parse_manifest(json->dump(indent), kFile)) == facts_of(manifest),
            "a manifest reads the same after it was written anew");
}

void check_file(std::string_view text) {
  JsonFault fault;
  const Result<Manifest> manifest = parse_manifest(text, kFile, &fault);
  require(facts_of(parse_manifest(text, kFile)) == facts_of(manifest), "reading twice gives the same");
  if (!manifest) return require_document_refusal(manifest.status(), fault, text, kFile, "manifest", kIds);
  require_sound(*manifest);
  require_same_rewritten(text, *manifest);
  require(parse_embedded_manifest(text, kLibrary).status().id() == "manifest.unknown-key",
          "what names a library cannot be embedded");
}

void check_embedded(std::string_view text) {
  JsonFault fault;
  const Result<Manifest> manifest = parse_embedded_manifest(text, kLibrary, &fault);
  require(facts_of(parse_embedded_manifest(text, kLibrary)) == facts_of(manifest), "reading twice gives the same");
  if (!manifest) return require_document_refusal(manifest.status(), fault, text, kPlace, "manifest", kIds);
  require_sound(*manifest);
  require(manifest->libraries.size() == 1 && manifest->libraries[0].path == kLibrary && manifest->sha256.empty(),
          "an embedded manifest is of the library that holds it");
  require(parse_manifest(text, kFile).status().id() == "manifest.missing-key", "a file has to name its library");
}

}  // namespace
}  // namespace backplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  backplane::check_file(text);
  backplane::check_embedded(text);
  return 0;
}
