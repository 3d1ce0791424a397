// Manifest: what a plugin's author says about one library (file format 1.0, manifests/plugin.schema.json).
//
// Parsing is strict: a manifest is either understood in full or rejected with file:line:column, the path of the key
// and, for a slip, what was probably meant. Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/abi/plugin.h"
#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"

namespace backplane {

struct ManifestLibrary {
  std::string platform;  // such as "linux-x86_64"; empty = every platform
  std::string path;      // absolute, or relative to the manifest's folder
};

struct ManifestVariant {
  std::string group;
  int64_t rank = 0;  // the largest rank that can run here wins
};

struct ManifestDependency {
  std::string soname;
  std::string hint;  // how to get it; may be empty
};

struct Manifest {
  std::string id, display_name, version;
  std::vector<ManifestLibrary> libraries;  // at least one
  std::string entry_point = BP_ENTRY_POINT;
  uint32_t abi_min = 0, abi_max = UINT32_MAX;  // BP_VERSION, inclusive; negotiation has the last word
  std::vector<std::string> cpu;                // required processor features
  std::optional<ManifestVariant> variant;
  std::vector<ManifestDependency> dependencies;
  Json options = Json::object();   // defaults
  std::string sha256;              // of the library, lower-case hex; empty = not pinned
  std::vector<std::string> notes;  // keys that only a newer minor version defines, and that were passed over
};

constexpr uint64_t kManifestMaxBytes = 1 << 20;

// `file` is for messages. Errors: invalid_argument with id "manifest.syntax", ".duplicate-key", ".utf8", ".too-large",
// ".too-deep", ".format-version", ".missing-key", ".unknown-key", ".type", ".value" or ".path"; *fault is filled if
// given.
Result<Manifest> parse_manifest(std::string_view text, std::string_view file, JsonFault* fault = nullptr);

// The same for the text that `library`, an absolute path, holds itself (SharedObject::manifest). It may give neither
// library_path nor sha256 ("manifest.unknown-key"): `libraries` becomes that one library, for every platform.
Result<Manifest> parse_embedded_manifest(std::string_view text, std::string_view library, JsonFault* fault = nullptr);

// "1.0" for BP_VERSION(1, 0).
std::string abi_text(uint32_t version);

// This process' platform in manifests, such as "linux-x86_64".
std::string_view current_platform();

// The library for `platform`, made absolute with `folder`, the absolute folder of the real manifest. Errors:
// not_found "manifest.platform", listing the platforms there are.
Result<std::string> library_path(const Manifest& manifest, std::string_view folder,
                                 std::string_view platform = current_platform());

}  // namespace backplane
