// DocumentReader: what the strict readers of manifests and of configuration files share: a table of keys for each
// object, the path of the key that is being read, messages with file:line:column, and the rule of versions.
// Thread safety: serialised by the caller.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/base/text.hpp"
#include "text_form.hpp"

namespace backplane {

// parse_json with the ids of an area: "manifest.syntax" for "json.syntax".
inline Result<Json> parse_document(std::string_view area, std::string_view text, std::string_view file,
                                   uint64_t max_bytes, JsonFault* fault) {
  constexpr std::string_view kJsonPrefix = "json.";
  JsonLimits limits;
  limits.max_bytes = max_bytes;
  Result<Json> json = parse_json(text, file, limits, fault);
  if (json) return json;
  const Status& status = json.status();
  return Status(status.code(), status.message(), cat(area, ".", status.id().substr(kJsonPrefix.size())));
}

// Derived also has Status unknown_key(const Json& value, const std::string& suggestion), called with the path of the
// key; an error ends the reading.
template <class Derived>
class DocumentReader {
 protected:
  static constexpr size_t kShownBytes = 100, kShownPathBytes = 300;  // of a bad value and of a path in a message

  using Read = Status (Derived::*)(const Json& value);
  struct Key {
    const char* name;
    bool required;
    Read read;
  };

  // `area` starts the ids of errors, `noun` names the document in messages: "manifest", "a manifest".
  DocumentReader(std::string_view area, std::string_view noun, std::string_view file, JsonFault* fault)
      : area_(area), noun_(noun), file_(file), fault_(fault) {}

  // Whether the document is of a minor version that is newer than this reader.
  bool newer_minor() const { return newer_minor_; }
  // "plugin.abi.min", "devices.order[2]"; "" at the root. For messages: shortened if somebody's key is very long.
  std::string path() const;
  const std::vector<std::string>& steps() const { return steps_; }
  std::string place(const Json& at) const { return cat(file_, ":", at.line(), ":", at.column(), ": "); }

  Status error(const Json& at, std::string_view id, std::string_view message) const {
    if (fault_) *fault_ = {at.line(), at.column()};
    return invalid_argument(cat(place(at), message), cat(area_, ".", id));
  }
  Status bad_option_name(const Json& value, std::string_view name) const {
    return error(
        value, "value",
        cat(path(), ": '", shortened(name, kShownBytes), "' is no option name; wanted at most 64 of A-Z a-z 0-9 _ -"));
  }
  // REQUIRES: `value` is text.
  Status bad_value(const Json& value, std::string_view wanted) const {
    return error(value, "value", cat(path(), " is '", shortened(value.as_text(), kShownBytes), "'; wanted ", wanted));
  }
  Status expect(const Json& value, Json::Kind kind, std::string_view wanted) const {
    if (value.is(kind)) return {};
    return error(value, "type", cat(steps_.empty() ? noun_ : path(), " must be ", wanted, ", not ", value.kind_name()));
  }
  // Any string with something in it, and without NUL, which would cut it short on its way to the system.
  Status read_text(const Json& value, std::string& text) const {
    BP_TRY(expect(value, Json::Kind::text, "a string"));
    if (value.as_text().empty()) return error(value, "value", cat(path(), " is empty"));
    if (value.as_text().find('\0') != std::string::npos) return error(value, "value", cat(path(), " contains a NUL"));
    text = value.as_text();
    return {};
  }
  Status skip_text(const Json& value) {
    std::string text;
    return read_text(value, text);
  }

  // Runs `read` with the path one step longer.
  template <class Function>
  Status inside(std::string step, const Function& read) {
    steps_.push_back(std::move(step));
    Status status = read();
    steps_.pop_back();
    return status;
  }
  Status read_items(const Json& list, Read read, std::string_view wanted) {
    BP_TRY(expect(list, Json::Kind::array, wanted));
    size_t index = 0;
    for (const Json& item : list.items())
      BP_TRY(inside(cat("[", index++, "]"), [&] { return (derived().*read)(item); }));
    return {};
  }
  Status read_object(const Json& object, std::span<const Key> keys);
  // To be called first. Also notes whether the minor version is newer.
  Status read_format_version(const Json& root);

 private:
  static constexpr uint32_t kFormatMajor = 1, kFormatMinor = 0;

  Derived& derived() { return static_cast<Derived&>(*this); }
  Status read_member(const std::string& name, const Json& value, std::span<const Key> keys);

  std::string area_, noun_;
  std::string_view file_;
  JsonFault* fault_;
  bool newer_minor_ = false;
  std::vector<std::string> steps_;
};

template <class Derived>
std::string DocumentReader<Derived>::path() const {
  std::string path;
  for (const std::string& step : steps_) path += cat(path.empty() || step.starts_with('[') ? "" : ".", step);
  return shortened(path, kShownPathBytes);
}

template <class Derived>
Status DocumentReader<Derived>::read_member(const std::string& name, const Json& value, std::span<const Key> keys) {
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& known) { return name == known.name; });
  if (key != keys.end()) return (derived().*key->read)(value);
  std::vector<std::string> names;
  for (const Key& known : keys) names.emplace_back(known.name);
  return derived().unknown_key(value, did_you_mean(name, names));
}

template <class Derived>
Status DocumentReader<Derived>::read_object(const Json& object, std::span<const Key> keys) {
  BP_TRY(expect(object, Json::Kind::object, "an object"));
  for (const Json::Member& member : object.members())
    if (!member.first.starts_with("x-"))
      BP_TRY(inside(member.first, [&] { return read_member(member.first, member.second, keys); }));
  for (const Key& key : keys)
    if (key.required && !object.find(key.name))
      return inside(key.name,
                    [&] { return error(object, "missing-key", cat("the required key '", path(), "' is missing")); });
  return {};
}

template <class Derived>
Status DocumentReader<Derived>::read_format_version(const Json& root) {
  BP_TRY(expect(root, Json::Kind::object, "an object"));
  const Json* value = root.find("file_format_version");
  if (!value) return error(root, "missing-key", "the required key 'file_format_version' is missing; write \"1.0\"");
  return inside("file_format_version", [&]() -> Status {
    BP_TRY(expect(*value, Json::Kind::text, "a string such as \"1.0\""));
    uint32_t major = 0, minor = 0;
    if (!parse_version_pair(value->as_text(), major, minor) || major != kFormatMajor)
      return error(*value, "format-version",
                   cat("file_format_version is '", shortened(value->as_text(), kShownBytes), "'; this version reads ",
                       kFormatMajor, ".x, written as \"1.0\""));
    newer_minor_ = minor > kFormatMinor;
    return {};
  });
}

}  // namespace backplane
