#include "manifest.hpp"

#include <utility>

#include "backplane/base/text.hpp"
#include "document_reader.hpp"

namespace backplane {
namespace {

// What only a configuration file has at its top.
constexpr const char* kConfigKeys[] = {"plugins", "devices", "plugin_dirs", "trust", "probe", "probe_timeout_ms"};

// What others' manifests have at their top, and whose they are.
constexpr std::pair<const char*, const char*> kForeignKeys[] = {{"ICD", "a Vulkan or EGL driver"},
                                                                {"layer", "a Vulkan layer"},
                                                                {"layers", "Vulkan layers"},
                                                                {"runtime", "an OpenXR runtime"},
                                                                {"api_layer", "an OpenXR layer"}};

class ManifestReader : public DocumentReader<ManifestReader> {
 public:
  // `library`: the one that holds the manifest, or "" if that is a file of its own.
  ManifestReader(std::string_view file, std::string_view library, JsonFault* fault)
      : DocumentReader("manifest", "a manifest", file, fault), library_(library) {}

  Result<Manifest> read(const Json& root) {
    if (is_embedded()) manifest_.libraries.push_back({"", std::string(library_)});
    BP_TRY(refuse_foreign(root));
    BP_TRY(read_format_version(root));
    BP_TRY(refuse_configuration(root));
    const Key keys[] = {{"$schema", false, &ManifestReader::skip_text},
                        {"file_format_version", true, &ManifestReader::skip_text},
                        {"plugin", true, &ManifestReader::read_plugin}};
    BP_TRY(read_object(root, keys));
    return std::move(manifest_);
  }

 private:
  friend class DocumentReader<ManifestReader>;

  bool is_embedded() const { return !library_.empty(); }
  Status refuse_embedded(const Json& at, std::string_view why) {
    return error(at, "unknown-key", cat("'", path(), "' has no place in an embedded manifest: ", why));
  }
  Status unknown_key(const Json& value, const std::string& suggestion) {
    if (!newer_minor())
      return error(value, "unknown-key", cat("unknown key '", path(), "'", suggestion, "; own keys start with 'x-'"));
    manifest_.notes.push_back(path());
    return {};
  }

  // Others have the same key for the version of their format.
  Status refuse_foreign(const Json& root) const {
    if (!root.is(Json::Kind::object) || root.find("plugin")) return {};
    for (const auto& [key, owner] : kForeignKeys)
      if (const Json* value = root.find(key))
        return error(*value, "unknown-key",
                     cat("the key '", key, "' makes this the manifest of ", owner, ", which belongs elsewhere"));
    return {};
  }

  // Somebody put it into the wrong folder and expects it to be heeded.
  Status refuse_configuration(const Json& root) const {
    if (root.find("plugin")) return {};
    for (const char* key : kConfigKeys)
      if (const Json* value = root.find(key))
        return error(
            *value, "unknown-key",
            cat("the key '", key, "' makes this a configuration file, not a manifest; it belongs in a conf.d folder"));
    return {};
  }

  Status read_plugin(const Json& value) {
    const Key keys[] = {{"id", true, &ManifestReader::read_id},
                        {"display_name", false, &ManifestReader::read_display_name},
                        {"version", false, &ManifestReader::read_version},
                        {"library_path", !is_embedded(), &ManifestReader::read_library_path},
                        {"entry_point", false, &ManifestReader::read_entry_point},
                        {"abi", false, &ManifestReader::read_abi},
                        {"requires", false, &ManifestReader::read_requires},
                        {"variant", false, &ManifestReader::read_variant},
                        {"dependencies", false, &ManifestReader::read_dependencies},
                        {"options", false, &ManifestReader::read_options},
                        {"sha256", false, &ManifestReader::read_sha256}};
    return read_object(value, keys);
  }

  Status read_id(const Json& value) {
    BP_TRY(read_text(value, manifest_.id));
    if (!is_plugin_id(manifest_.id))
      return bad_value(value, "at most 64 of a-z 0-9 . _ -, such as \"org.example.gpu\"");
    return {};
  }
  Status read_display_name(const Json& value) { return read_text(value, manifest_.display_name); }
  Status read_version(const Json& value) {
    BP_TRY(read_text(value, manifest_.version));
    return is_version(manifest_.version) ? Status() : bad_value(value, "major.minor.patch, such as \"1.0.0\"");
  }
  Status read_entry_point(const Json& value) {
    BP_TRY(read_text(value, manifest_.entry_point));
    return is_symbol(manifest_.entry_point) ? Status() : bad_value(value, "the name of a C function");
  }
  Status read_sha256(const Json& value) {
    if (is_embedded()) return refuse_embedded(value, "no file can hold its own hash");
    BP_TRY(read_text(value, manifest_.sha256));
    return is_sha256(manifest_.sha256) ? Status() : bad_value(value, "64 lower-case hexadecimal digits");
  }

  Status add_library(const Json& value, const std::string& platform) {
    BP_TRY(expect(value, Json::Kind::text, "a string"));
    const std::string& text = value.as_text();
    std::string_view fault = path_fault(text);
    if (fault.empty() && text.back() == '/') fault = "it names a folder";
    if (!fault.empty()) return error(value, "path", cat(path(), " is '", shortened(text, kShownBytes), "': ", fault));
    manifest_.libraries.push_back({platform, text});
    return {};
  }
  Status read_library_path(const Json& value) {
    if (is_embedded()) return refuse_embedded(value, "the library is the file that holds it");
    if (!value.is(Json::Kind::object)) {
      if (!value.is(Json::Kind::text)) return expect(value, Json::Kind::text, "a string or an object");
      return add_library(value, "");
    }
    if (value.members().empty()) return error(value, "value", cat(path(), " names no platform"));
    for (const Json::Member& library : value.members()) {
      const std::string& platform = library.first;
      if (!is_platform(platform))
        return error(library.second, "value",
                     cat(path(), ": '", shortened(platform, kShownBytes), "' is not a platform; write it like '",
                         current_platform(), "'"));
      BP_TRY(inside(platform, [&] { return add_library(library.second, platform); }));
    }
    return {};
  }

  Status read_abi_version(const Json& value, uint32_t& version) {
    std::string text;
    BP_TRY(read_text(value, text));
    uint32_t major = 0, minor = 0;
    if (!parse_version_pair(text, major, minor)) return bad_value(value, "major.minor, such as \"1.0\"");
    version = BP_VERSION(major, minor);
    return {};
  }
  Status read_abi_min(const Json& value) { return read_abi_version(value, manifest_.abi_min); }
  Status read_abi_max(const Json& value) { return read_abi_version(value, manifest_.abi_max); }
  Status read_abi(const Json& value) {
    const Key keys[] = {{"min", true, &ManifestReader::read_abi_min}, {"max", true, &ManifestReader::read_abi_max}};
    BP_TRY(read_object(value, keys));
    return manifest_.abi_min <= manifest_.abi_max ? Status()
                                                  : error(value, "value", cat(path(), ": min is larger than max"));
  }

  Status read_cpu(const Json& value) {
    return read_items(value, &ManifestReader::read_cpu_feature, "a list of strings");
  }
  Status read_cpu_feature(const Json& value) { return read_text(value, manifest_.cpu.emplace_back()); }
  Status read_requires(const Json& value) {
    const Key keys[] = {{"cpu", false, &ManifestReader::read_cpu}};
    return read_object(value, keys);
  }

  Status read_group(const Json& value) {
    BP_TRY(read_text(value, manifest_.variant->group));
    return is_plugin_id(manifest_.variant->group) ? Status() : bad_value(value, "a name formed like a plugin id");
  }
  Status read_rank(const Json& value) {
    BP_TRY(expect(value, Json::Kind::integer, "an integer"));
    manifest_.variant->rank = value.as_integer();
    return {};
  }
  Status read_variant(const Json& value) {
    const Key keys[] = {{"group", true, &ManifestReader::read_group}, {"rank", true, &ManifestReader::read_rank}};
    manifest_.variant.emplace();
    return read_object(value, keys);
  }

  Status read_soname(const Json& value) {
    std::string& soname = manifest_.dependencies.back().soname;
    BP_TRY(read_text(value, soname));
    return soname.find('/') != std::string::npos ? bad_value(value, "a file name without folders") : Status();
  }
  Status read_hint(const Json& value) { return read_text(value, manifest_.dependencies.back().hint); }
  Status read_dependencies(const Json& value) {
    return read_items(value, &ManifestReader::read_dependency, "a list of objects");
  }
  Status read_dependency(const Json& value) {
    const Key keys[] = {{"soname", true, &ManifestReader::read_soname}, {"hint", false, &ManifestReader::read_hint}};
    manifest_.dependencies.emplace_back();
    return read_object(value, keys);
  }

  Status check_options(const Json& value) {
    for (const Json::Member& option : value.members()) {
      if (!is_option_name(option.first)) return bad_option_name(option.second, option.first);
      BP_TRY(inside(option.first, [&] { return check_option(option.second); }));
    }
    return {};
  }
  Status check_option(const Json& value) {
    if (value.is(Json::Kind::object)) return check_options(value);
    return value.is(Json::Kind::null) ? error(value, "type", cat(path(), " needs a default, not null")) : Status();
  }
  Status read_options(const Json& value) {
    BP_TRY(expect(value, Json::Kind::object, "an object"));
    manifest_.options = value;
    return check_options(value);
  }

  std::string_view library_;
  Manifest manifest_;
};

Result<Manifest> parse(std::string_view text, std::string_view file, std::string_view library, JsonFault* fault) {
  BP_TRY_ASSIGN(const Json root, parse_document("manifest", text, file, kManifestMaxBytes, fault));
  return ManifestReader(file, library, fault).read(root);
}

}  // namespace

std::string abi_text(uint32_t version) { return cat(BP_VERSION_MAJOR(version), ".", BP_VERSION_MINOR(version)); }

std::string_view current_platform() {
#if defined(__x86_64__)
  return "linux-x86_64";
#elif defined(__aarch64__)
  return "linux-aarch64";
#else
#error "name this platform here"
#endif
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view file, JsonFault* fault) {
  return parse(text, file, "", fault);
}

Result<Manifest> parse_embedded_manifest(std::string_view text, std::string_view library, JsonFault* fault) {
  return parse(text, cat(library, " (embedded manifest)"), library, fault);
}

Result<std::string> library_path(const Manifest& manifest, std::string_view folder, std::string_view platform) {
  std::vector<std::string> others;
  for (const ManifestLibrary& library : manifest.libraries) {
    if (library.platform.empty() || library.platform == platform)
      return library.path.front() == '/' ? library.path : cat(folder, "/", library.path);
    others.push_back(library.platform);
  }
  return not_found(cat("'", manifest.id, "' has no library for ", platform, ", only for ", join(others, ", ")),
                   "manifest.platform");
}

}  // namespace backplane
