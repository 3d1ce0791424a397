// PluginOptions: a plugin's options as it gets them when it is opened.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "backplane/abi/plugin.h"
#include "backplane/base/json.hpp"
#include "backplane/base/status.hpp"

namespace backplane {

class PluginOptions {
 public:
  // Merges `overrides` over the manifest's `defaults`, both objects, and flattens nested objects with dots. A null
  // override resets to the default. Without any default a key is passed on, for the plugin to judge. Errors:
  // invalid_argument "options.type" if an override is of another type than the default, "options.unknown-key" if there
  // are defaults and none of that name; *fault is the key then, if given.
  static Result<PluginOptions> merge(const Json& defaults, const Json& overrides, std::string* fault = nullptr);

  PluginOptions(PluginOptions&&) = default;
  PluginOptions& operator=(PluginOptions&&) = default;

  // In order of their keys; strings are this object's.
  const std::vector<bp_option>& list() const { return list_; }

 private:
  PluginOptions() = default;
  void add(const std::string& key, const Json& value);

  std::deque<std::string> texts_;  // a deque: elements stay where they are
  std::vector<bp_option> list_;
};

}  // namespace backplane
