#include "manifest.hpp"

#include <algorithm>
#include <span>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr uint32_t kFormatMajor = 1, kFormatMinor = 0;
constexpr size_t kShownBytes = 100;     // of a bad value in a message
constexpr size_t kMaxPathBytes = 4095;  // PATH_MAX without its NUL

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_any_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

template <class Predicate>
bool all_of(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

bool is_id(std::string_view text) {
  const auto plain = [](char c) { return is_lower(c) || is_digit(c); };
  return !text.empty() && text.size() <= 64 && plain(text.front()) && plain(text.back()) &&
         all_of(text, [&](char c) { return plain(c) || is_any_of(c, "._-"); });
}

bool is_symbol(std::string_view text) {
  return !text.empty() && text.size() <= 128 && !is_digit(text.front()) &&
         all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && all_of(text, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

bool is_option_key(std::string_view text) {
  return !text.empty() && text.size() <= 64 &&
         all_of(text, [](char c) { return is_letter(c) || is_digit(c) || is_any_of(c, "_-"); });
}

bool is_platform(std::string_view text) {
  const size_t dash = text.find('-');
  const auto plain = [](char c) { return is_lower(c) || is_digit(c); };
  return dash != std::string_view::npos && dash > 0 && dash + 1 < text.size() && all_of(text.substr(0, dash), plain) &&
         all_of(text.substr(dash + 1), [&](char c) { return plain(c) || c == '_'; });
}

// What makes a library path unfit, or "". Nothing is expanded in it, so what asks for that is refused.
std::string_view path_fault(std::string_view path) {
  if (path.empty()) return "it is empty";
  if (path.front() == '~') return "'~' is not expanded; write an absolute path or one relative to the manifest";
  if (is_any_of('$', path)) return "'$' is not expanded; write an absolute path or one relative to the manifest";
  if (path.back() == '/') return "it names a folder";
  if (path.size() > kMaxPathBytes) return "it is longer than the 4095 bytes of a path";
  return {};
}

// Reads decimal digits at the start of `text` and drops them; false if there are none or more than five.
bool take_number(std::string_view& text, uint32_t& number) {
  size_t digits = 0;
  number = 0;
  for (; digits < text.size() && is_digit(text[digits]); ++digits)
    if (digits < 6) number = number * 10 + static_cast<uint32_t>(text[digits] - '0');
  const bool leading_zero = digits > 1 && text[0] == '0';
  text.remove_prefix(digits);
  return digits >= 1 && digits <= 5 && !leading_zero;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

// "1.0" as (1, 0), each below 65536.
bool parse_pair(std::string_view text, uint32_t& major, uint32_t& minor) {
  return take_number(text, major) && take_char(text, '.') && take_number(text, minor) && text.empty() &&
         major <= UINT16_MAX && minor <= UINT16_MAX;
}

bool is_version(std::string_view text) {
  uint32_t part;
  if (!take_number(text, part) || !take_char(text, '.') || !take_number(text, part) || !take_char(text, '.') ||
      !take_number(text, part))
    return false;
  return text.empty() || (text.size() > 1 && is_any_of(text[0], "-+") && all_of(text.substr(1), [](char c) {
                            return is_letter(c) || is_digit(c) || is_any_of(c, ".+-");
                          }));
}

// Reads one manifest. Every function takes the value and the path of its key.
class ManifestReader {
 public:
  // `library`: the one that holds the manifest, or "" if that is a file of its own.
  ManifestReader(std::string_view file, std::string_view library, JsonFault* fault)
      : file_(file), library_(library), fault_(fault) {}

  Result<Manifest> read(const Json& root) {
    if (is_embedded()) manifest_.libraries.push_back({"", std::string(library_)});
    BP_TRY(read_format_version(root));
    const Key keys[] = {{"$schema", false, &ManifestReader::skip_text},
                        {"file_format_version", true, &ManifestReader::skip_text},
                        {"plugin", true, &ManifestReader::read_plugin}};
    BP_TRY(read_object(root, "", keys));
    return std::move(manifest_);
  }

 private:
  using Reader = Status (ManifestReader::*)(const Json&, const std::string&);
  struct Key {
    const char* name;
    bool required;
    Reader read;
  };

  bool is_embedded() const { return !library_.empty(); }
  Status refuse_embedded(const Json& at, const std::string& path, std::string_view why) {
    return error(at, "unknown-key", cat("'", path, "' has no place in an embedded manifest: ", why));
  }
  Status error(const Json& at, std::string_view id, std::string_view message) {
    if (fault_) *fault_ = {at.line(), at.column()};
    return invalid_argument(cat(file_, ":", at.line(), ":", at.column(), ": ", message), cat("manifest.", id));
  }
  Status bad_value(const Json& at, const std::string& path, std::string_view wanted) {
    return error(at, "value", cat(path, " is '", shortened(at.as_text(), kShownBytes), "'; wanted ", wanted));
  }
  Status expect(const Json& at, const std::string& path, Json::Kind kind, std::string_view wanted) {
    if (at.is(kind)) return {};
    return error(at, "type", cat(path.empty() ? "a manifest" : path, " must be ", wanted, ", not ", at.kind_name()));
  }
  Status unknown_key(const Json& at, const std::string& path, const std::string& key, std::span<const Key> keys) {
    std::vector<std::string> names;
    for (const Key& known : keys) names.emplace_back(known.name);
    if (newer_minor_) {
      manifest_.notes.push_back(cat(path, key));
      return {};
    }
    return error(at, "unknown-key",
                 cat("unknown key '", path, key, "'", did_you_mean(key, names), "; own keys start with 'x-'"));
  }

  // `prefix` is the path of the object with a dot, or "" at the root.
  Status read_object(const Json& object, const std::string& prefix, std::span<const Key> keys) {
    const std::string path = prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1);
    BP_TRY(expect(object, path, Json::Kind::object, "an object"));
    for (const Json::Member& member : object.members()) {
      const std::string& name = member.first;
      const Json& value = member.second;
      if (name.starts_with("x-")) continue;
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& known) { return name == known.name; });
      if (key != keys.end())
        BP_TRY((this->*key->read)(value, cat(prefix, name)));
      else
        BP_TRY(unknown_key(value, prefix, name, keys));
    }
    for (const Key& key : keys)
      if (key.required && !object.find(key.name))
        return error(object, "missing-key", cat("the required key '", prefix, key.name, "' is missing"));
    return {};
  }

  // Any string without NUL, which would cut it short on its way to the system.
  Status read_text(const Json& value, const std::string& path, std::string& text) {
    BP_TRY(expect(value, path, Json::Kind::text, "a string"));
    if (value.as_text().empty()) return error(value, "value", cat(path, " is empty"));
    if (value.as_text().find('\0') != std::string::npos) return error(value, "value", cat(path, " contains a NUL"));
    text = value.as_text();
    return {};
  }
  Status skip_text(const Json& value, const std::string& path) {
    std::string text;
    return read_text(value, path, text);
  }

  Status read_format_version(const Json& root) {
    BP_TRY(expect(root, "", Json::Kind::object, "an object"));
    const Json* value = root.find("file_format_version");
    if (!value) return error(root, "missing-key", "the required key 'file_format_version' is missing; write \"1.0\"");
    BP_TRY(expect(*value, "file_format_version", Json::Kind::text, "a string such as \"1.0\""));
    uint32_t major = 0, minor = 0;
    if (!parse_pair(value->as_text(), major, minor) || major != kFormatMajor)
      return error(*value, "format-version",
                   cat("file_format_version is '", value->as_text(), "'; this version reads ", kFormatMajor,
                       ".x, written as \"1.0\""));
    newer_minor_ = minor > kFormatMinor;
    return {};
  }

  Status read_plugin(const Json& value, const std::string& path) {
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
    return read_object(value, path + ".", keys);
  }

  Status read_id(const Json& value, const std::string& path) {
    BP_TRY(read_text(value, path, manifest_.id));
    if (!is_id(manifest_.id)) return bad_value(value, path, "at most 64 of a-z 0-9 . _ -, such as \"org.example.gpu\"");
    return {};
  }
  Status read_display_name(const Json& value, const std::string& path) {
    return read_text(value, path, manifest_.display_name);
  }
  Status read_version(const Json& value, const std::string& path) {
    BP_TRY(read_text(value, path, manifest_.version));
    return is_version(manifest_.version) ? Status() : bad_value(value, path, "major.minor.patch, such as \"1.0.0\"");
  }
  Status read_entry_point(const Json& value, const std::string& path) {
    BP_TRY(read_text(value, path, manifest_.entry_point));
    return is_symbol(manifest_.entry_point) ? Status() : bad_value(value, path, "the name of a C function");
  }
  Status read_sha256(const Json& value, const std::string& path) {
    if (is_embedded()) return refuse_embedded(value, path, "no file can hold its own hash");
    BP_TRY(read_text(value, path, manifest_.sha256));
    return is_sha256(manifest_.sha256) ? Status() : bad_value(value, path, "64 lower-case hexadecimal digits");
  }

  Status add_library(const Json& value, const std::string& path, std::string platform) {
    BP_TRY(expect(value, path, Json::Kind::text, "a string"));
    const std::string& text = value.as_text();
    if (text.find('\0') != std::string::npos) return error(value, "path", cat(path, " contains a NUL"));
    if (const std::string_view fault = path_fault(text); !fault.empty())
      return error(value, "path", cat(path, " is '", shortened(text, kShownBytes), "': ", fault));
    manifest_.libraries.push_back({std::move(platform), text});
    return {};
  }
  Status read_library_path(const Json& value, const std::string& path) {
    if (is_embedded()) return refuse_embedded(value, path, "the library is the file that holds it");
    if (!value.is(Json::Kind::object)) {
      if (!value.is(Json::Kind::text)) return expect(value, path, Json::Kind::text, "a string or an object");
      return add_library(value, path, "");
    }
    if (value.members().empty()) return error(value, "value", cat(path, " names no platform"));
    for (const auto& [platform, library] : value.members()) {
      if (!is_platform(platform))
        return error(library, "value",
                     cat(path, ": '", platform, "' is not a platform; write it like '", current_platform(), "'"));
      BP_TRY(add_library(library, cat(path, ".", platform), platform));
    }
    return {};
  }

  Status read_abi_version(const Json& value, const std::string& path, uint32_t& version) {
    std::string text;
    BP_TRY(read_text(value, path, text));
    uint32_t major = 0, minor = 0;
    if (!parse_pair(text, major, minor)) return bad_value(value, path, "major.minor, such as \"1.0\"");
    version = BP_VERSION(major, minor);
    return {};
  }
  Status read_abi_min(const Json& value, const std::string& path) {
    return read_abi_version(value, path, manifest_.abi_min);
  }
  Status read_abi_max(const Json& value, const std::string& path) {
    return read_abi_version(value, path, manifest_.abi_max);
  }
  Status read_abi(const Json& value, const std::string& path) {
    const Key keys[] = {{"min", true, &ManifestReader::read_abi_min}, {"max", true, &ManifestReader::read_abi_max}};
    BP_TRY(read_object(value, path + ".", keys));
    return manifest_.abi_min <= manifest_.abi_max ? Status()
                                                  : error(value, "value", cat(path, ": min is larger than max"));
  }

  Status read_cpu(const Json& value, const std::string& path) {
    BP_TRY(expect(value, path, Json::Kind::array, "a list of strings"));
    for (const Json& item : value.items()) BP_TRY(read_text(item, cat(path, "[]"), manifest_.cpu.emplace_back()));
    return {};
  }
  Status read_requires(const Json& value, const std::string& path) {
    const Key keys[] = {{"cpu", false, &ManifestReader::read_cpu}};
    return read_object(value, path + ".", keys);
  }

  Status read_group(const Json& value, const std::string& path) {
    BP_TRY(read_text(value, path, manifest_.variant->group));
    return is_id(manifest_.variant->group) ? Status() : bad_value(value, path, "a name formed like a plugin id");
  }
  Status read_rank(const Json& value, const std::string& path) {
    BP_TRY(expect(value, path, Json::Kind::integer, "an integer"));
    manifest_.variant->rank = value.as_integer();
    return {};
  }
  Status read_variant(const Json& value, const std::string& path) {
    const Key keys[] = {{"group", true, &ManifestReader::read_group}, {"rank", true, &ManifestReader::read_rank}};
    manifest_.variant.emplace();
    return read_object(value, path + ".", keys);
  }

  Status read_soname(const Json& value, const std::string& path) {
    std::string& soname = manifest_.dependencies.back().soname;
    BP_TRY(read_text(value, path, soname));
    return is_any_of('/', soname) ? bad_value(value, path, "a file name without folders") : Status();
  }
  Status read_hint(const Json& value, const std::string& path) {
    return read_text(value, path, manifest_.dependencies.back().hint);
  }
  Status read_dependencies(const Json& value, const std::string& path) {
    const Key keys[] = {{"soname", true, &ManifestReader::read_soname}, {"hint", false, &ManifestReader::read_hint}};
    BP_TRY(expect(value, path, Json::Kind::array, "a list of objects"));
    for (const Json& item : value.items()) {
      manifest_.dependencies.emplace_back();
      BP_TRY(read_object(item, cat(path, "[]."), keys));
    }
    return {};
  }

  Status check_options(const Json& value, const std::string& path) {
    BP_TRY(expect(value, path, Json::Kind::object, "an object"));
    for (const auto& [key, option] : value.members()) {
      if (!is_option_key(key))
        return error(option, "value", cat(path, ": '", key, "' is no option name; use at most 64 of A-Z a-z 0-9 _ -"));
      if (option.is(Json::Kind::null)) return error(option, "type", cat(path, ".", key, " needs a default, not null"));
      if (option.is(Json::Kind::object)) BP_TRY(check_options(option, cat(path, ".", key)));
    }
    return {};
  }
  Status read_options(const Json& value, const std::string& path) {
    manifest_.options = value;
    return check_options(value, path);
  }

  std::string_view file_, library_;
  JsonFault* fault_;
  bool newer_minor_ = false;
  Manifest manifest_;
};

Result<Manifest> parse(std::string_view text, std::string_view file, std::string_view library, JsonFault* fault) {
  constexpr std::string_view kJsonPrefix = "json.";
  JsonLimits limits;
  limits.max_bytes = kManifestMaxBytes;
  const Result<Json> json = parse_json(text, file, limits, fault);
  if (json) return ManifestReader(file, library, fault).read(*json);
  const Status& status = json.status();
  return Status(status.code(), status.message(), cat("manifest.", status.id().substr(kJsonPrefix.size())));
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
