#include "plugin_options.hpp"

#include <algorithm>
#include <map>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

using Flat = std::map<std::string, Json>;

void flatten(const Json& object, const std::string& prefix, Flat& flat) {
  for (const auto& [key, value] : object.members()) {
    const std::string path = cat(prefix, key);
    if (value.is(Json::Kind::object))
      flatten(value, path + ".", flat);
    else
      flat.insert_or_assign(path, value);
  }
}

bool fits(const Json& value, const Json& wanted) {
  return value.kind() == wanted.kind() || (wanted.is(Json::Kind::number) && value.is(Json::Kind::integer));
}

}  // namespace

Result<PluginOptions> PluginOptions::merge(const Json& defaults, const Json& overrides, std::string* fault) {
  Flat merged, changes;
  flatten(defaults, "", merged);
  std::vector<std::string> declared;
  for (const auto& [key, value] : merged) declared.push_back(key);
  flatten(overrides, "", changes);
  for (const auto& [key, value] : changes) {
    if (value.is(Json::Kind::null)) continue;
    if (fault) *fault = key;
    const auto known = merged.find(key);
    if (known == merged.end()) {
      if (!declared.empty())
        return invalid_argument(
            cat("the plugin has no option '", key, "'", did_you_mean(key, declared), "; it has ", join(declared, ", ")),
            "options.unknown-key");
      merged.emplace(key, value);
      continue;
    }
    if (!fits(value, known->second))
      return invalid_argument(
          cat("the option '", key, "' must be ", known->second.kind_name(), ", not ", value.kind_name()),
          "options.type");
    // An integer given for a number stays a number for the plugin.
    known->second = known->second.is(Json::Kind::number) ? Json::number(value.as_number()) : value;
  }
  PluginOptions options;
  for (const auto& [key, value] : merged) options.add(key, value);
  return options;
}

void PluginOptions::add(const std::string& key, const Json& value) {
  bp_option option = {};
  option.key = texts_.emplace_back(key).c_str();
  switch (value.kind()) {
    case Json::Kind::boolean:
      option.type = BP_OPTION_BOOL;
      option.i = value.as_boolean() ? 1 : 0;
      break;
    case Json::Kind::integer:
      option.type = BP_OPTION_I64;
      option.i = value.as_integer();
      break;
    case Json::Kind::number:
      option.type = BP_OPTION_F64;
      option.f = value.as_number();
      break;
    default:
      option.type = value.is(Json::Kind::text) ? BP_OPTION_TEXT : BP_OPTION_JSON;
      const std::string& text = texts_.emplace_back(value.is(Json::Kind::text) ? value.as_text() : value.dump(-1));
      option.text = text.c_str();
      option.text_len = text.size();
  }
  list_.push_back(option);
}

}  // namespace backplane
