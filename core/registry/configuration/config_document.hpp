// ConfigDocument: one configuration file, read strictly (file format 1.0, manifests/config.schema.json): what it
// changes, in the order of the file. Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/registry/notice.hpp"

namespace backplane {

// One change. Each value has its line and column.
struct ConfigSetting {
  enum class Action { set, append, reset };  // append: `value` is an array; reset: the path and all below it
  Action action;
  std::vector<std::string> path;  // {"plugins", "org.example.gpu", "enabled"}
  Json value;
};

struct ConfigDocument {
  std::vector<ConfigSetting> settings;
  std::vector<Notice> notices;  // "config.unknown-key": a warning, or info if a newer minor version may know the key
};

constexpr uint64_t kConfigMaxBytes = 1 << 20;

// `file` is for messages. Errors: invalid_argument with id "config.syntax", ".duplicate-key", ".utf8", ".too-large",
// ".too-deep", ".format-version", ".missing-key", ".type" or ".value", and ".unknown-key" if it is a manifest; *fault
// is filled if given.
Result<ConfigDocument> parse_config(std::string_view text, std::string_view file, JsonFault* fault = nullptr);

// The words of "trust" and "probe"; nothing if it is none of them.
std::optional<TrustPolicy> parse_trust(std::string_view word);
std::optional<ProbePolicy> parse_probe(std::string_view word);
// "off, cached or always (did you mean 'cached'?)", for messages.
std::string probe_words(std::string_view word);

}  // namespace backplane
