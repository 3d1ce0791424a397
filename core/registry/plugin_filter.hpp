// PluginFilter: which plugins the user lets in, by globs on plugin id or file name. Denial wins.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/registry/environment.hpp"

namespace backplane {

class PluginFilter {
 public:
  // Lets everything in.
  PluginFilter() = default;
  // Reads the comma-separated globs of BACKPLANE_PLUGINS_SELECT and BACKPLANE_PLUGINS_DISABLE.
  explicit PluginFilter(const Environment& environment);

  // Errors: failed_precondition "filter.disabled" or "filter.not-selected", naming the variable.
  Status check(const std::string& plugin_id, const std::string& file_name) const;

 private:
  std::vector<std::string> select_, disable_;
  bool selecting_ = false;
};

}  // namespace backplane
