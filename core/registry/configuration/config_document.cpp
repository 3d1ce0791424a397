#include "config_document.hpp"

#include <algorithm>
#include <iterator>

#include "backplane/base/text.hpp"
#include "registry/manifest/document_reader.hpp"

namespace backplane {
namespace {

constexpr int64_t kMaxPriority = 1000;
constexpr int64_t kMinTimeoutMs = 100, kMaxTimeoutMs = 120000;

using Words = std::vector<std::string>;

// In the order of the enumerations.
Words trust_words() { return {"normal", "strict"}; }
Words probe_words() { return {"off", "cached", "always"}; }

template <class Policy>
std::optional<Policy> find_word(std::string_view word, const Words& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Policy>(std::distance(words.begin(), found));
}

// Reads one file into changes. Every value but the version may be null, which resets what lower files say.
class ConfigReader : public DocumentReader<ConfigReader> {
 public:
  ConfigReader(std::string_view file, JsonFault* fault)
      : DocumentReader("config", "a configuration file", file, fault), file_(file) {}

  Result<ConfigDocument> read(const Json& root) {
    BP_TRY(read_format_version(root));
    BP_TRY(refuse_manifest(root));
    const Key keys[] = {
        {"$schema", false, &ConfigReader::skip_text},        {"file_format_version", true, &ConfigReader::skip_text},
        {"plugins", false, &ConfigReader::read_plugins},     {"devices", false, &ConfigReader::read_devices},
        {"plugin_dirs", false, &ConfigReader::read_folders}, {"trust", false, &ConfigReader::read_trust},
        {"probe", false, &ConfigReader::read_probe},         {"probe_timeout_ms", false, &ConfigReader::read_timeout}};
    BP_TRY(read_object(root, keys));
    return std::move(document_);
  }

 private:
  friend class DocumentReader<ConfigReader>;

  Status unknown_key(const Json& value, const std::string& suggestion) {
    Notice notice = {Severity::warning, "config.unknown-key", "", "", std::string(file_), value.line(), value.column()};
    notice.message = cat(place(value), "unknown key '", path(), "'", suggestion, "; it is passed over");
    notice.hint = "correct it, or start its name with 'x-' if it is your own";
    if (newer_minor()) {
      notice.severity = Severity::info;
      notice.hint = "the file is written for a newer version";
    }
    document_.notices.push_back(std::move(notice));
    return {};
  }

  // Somebody put it into the wrong folder and expects a plugin.
  Status refuse_manifest(const Json& root) const {
    const Json* plugin = root.find("plugin");
    if (!plugin || !plugin->is(Json::Kind::object) || !plugin->find("library_path")) return {};
    return error(*plugin, "unknown-key",
                 "the key 'plugin' makes this a manifest, not a configuration file; it belongs in a plugins.d folder");
  }

  Status set(const Json& value) {
    document_.settings.push_back({ConfigSetting::Action::set, steps(), value});
    return {};
  }
  bool is_reset(const Json& value) {
    if (!value.is(Json::Kind::null)) return false;
    document_.settings.push_back({ConfigSetting::Action::reset, steps(), value});
    return true;
  }

  Status read_plugins(const Json& value) {
    if (is_reset(value)) return {};
    BP_TRY(expect(value, Json::Kind::object, "an object"));
    for (const Json::Member& plugin : value.members()) {
      if (!is_plugin_id(plugin.first))
        return error(plugin.second, "value",
                     cat(path(), ": '", shortened(plugin.first, kShownBytes),
                         "' is no plugin id; wanted at most 64 of a-z 0-9 . _ -, such as \"org.example.gpu\""));
      BP_TRY(inside(plugin.first, [&] { return read_plugin(plugin.second); }));
    }
    return {};
  }
  Status read_plugin(const Json& value) {
    if (is_reset(value)) return {};
    const Key keys[] = {{"enabled", false, &ConfigReader::read_flag},
                        {"priority", false, &ConfigReader::read_priority},
                        {"required", false, &ConfigReader::read_flag},
                        {"sha256", false, &ConfigReader::read_sha256},
                        {"options", false, &ConfigReader::read_options}};
    return read_object(value, keys);
  }
  Status read_flag(const Json& value) {
    if (is_reset(value)) return {};
    BP_TRY(expect(value, Json::Kind::boolean, "true or false"));
    return set(value);
  }
  Status read_integer(const Json& value, int64_t least, int64_t most) {
    if (is_reset(value)) return {};
    BP_TRY(expect(value, Json::Kind::integer, "an integer"));
    if (value.as_integer() < least || value.as_integer() > most)
      return error(value, "value", cat(path(), " is ", value.as_integer(), "; wanted ", least, " to ", most));
    return set(value);
  }
  Status read_priority(const Json& value) { return read_integer(value, -kMaxPriority, kMaxPriority); }
  Status read_timeout(const Json& value) { return read_integer(value, kMinTimeoutMs, kMaxTimeoutMs); }
  Status read_sha256(const Json& value) {
    if (is_reset(value)) return {};
    BP_TRY(expect(value, Json::Kind::text, "a string"));
    return is_sha256(value.as_text()) ? set(value) : bad_value(value, "64 lower-case hexadecimal digits");
  }

  Status read_options(const Json& value) {
    if (is_reset(value)) return {};
    BP_TRY(expect(value, Json::Kind::object, "an object"));
    for (const Json::Member& option : value.members()) {
      if (!is_option_name(option.first)) return bad_option_name(option.second, option.first);
      BP_TRY(inside(option.first, [&] { return read_option(option.second); }));
    }
    return {};
  }
  // Arrays are one value here: only the plugin knows what they mean.
  Status read_option(const Json& value) {
    if (value.is(Json::Kind::object)) return read_options(value);
    return is_reset(value) ? Status() : set(value);
  }

  Status read_devices(const Json& value) {
    if (is_reset(value)) return {};
    const Key keys[] = {{"order", false, &ConfigReader::read_selectors},
                        {"hide", false, &ConfigReader::read_selectors}};
    return read_object(value, keys);
  }
  Status read_list(const Json& value, Read read_item) {
    if (is_reset(value)) return {};
    BP_TRY(read_items(value, read_item, "a list of strings"));
    document_.settings.push_back({ConfigSetting::Action::append, steps(), value});
    return {};
  }
  Status read_selectors(const Json& value) { return read_list(value, &ConfigReader::skip_text); }
  Status read_folders(const Json& value) { return read_list(value, &ConfigReader::check_folder); }
  Status check_folder(const Json& value) {
    BP_TRY(expect(value, Json::Kind::text, "a string"));
    const std::string& folder = value.as_text();
    std::string_view fault = path_fault(folder);
    if (fault.empty() && folder.front() != '/') fault = "it is relative; write the whole path, from '/' on";
    if (fault.empty()) return {};
    return error(value, "value", cat(path(), " is '", shortened(folder, kShownBytes), "': ", fault));
  }

  Status read_word(const Json& value, const Words& words) {
    if (is_reset(value)) return {};
    BP_TRY(expect(value, Json::Kind::text, cat("one of ", join(words, ", "))));
    if (std::find(words.begin(), words.end(), value.as_text()) != words.end()) return set(value);
    return bad_value(value, cat(join(words, " or "), did_you_mean(value.as_text(), words)));
  }
  Status read_trust(const Json& value) { return read_word(value, trust_words()); }
  Status read_probe(const Json& value) { return read_word(value, probe_words()); }

  std::string_view file_;
  ConfigDocument document_;
};

}  // namespace

Result<ConfigDocument> parse_config(std::string_view text, std::string_view file, JsonFault* fault) {
  BP_TRY_ASSIGN(const Json root, parse_document("config", text, file, kConfigMaxBytes, fault));
  return ConfigReader(file, fault).read(root);
}

std::optional<TrustPolicy> parse_trust(std::string_view word) { return find_word<TrustPolicy>(word, trust_words()); }
std::optional<ProbePolicy> parse_probe(std::string_view word) { return find_word<ProbePolicy>(word, probe_words()); }
std::string probe_words(std::string_view word) {
  return cat("off, cached or always", did_you_mean(word, probe_words()));
}

}  // namespace backplane
