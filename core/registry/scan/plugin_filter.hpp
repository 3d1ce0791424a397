// PluginFilter: which plugins the user lets in, by globs on plugin id or file name. Denial wins.
#pragma once

#include <string>
#include <vector>

#include "backplane/base/status.hpp"
#include "backplane/registry/configuration.hpp"
#include "backplane/registry/environment.hpp"

namespace backplane {

class PluginFilter {
 public:
  // Lets everything in.
  PluginFilter() = default;
  // Reads the comma-separated globs of BACKPLANE_PLUGINS_SELECT and BACKPLANE_PLUGINS_DISABLE, and `enabled` of the
  // configuration, which is borrowed.
  PluginFilter(const Environment& environment, const Configuration& configuration);

  // Errors: failed_precondition "filter.disabled" or "filter.not-selected", naming the variable or the file and line.
  Status check(const std::string& plugin_id, const std::string& file_name);
  // The globs that nothing has matched so far: "filter.no-match".
  std::vector<Notice> notices() const;

 private:
  struct Glob {
    std::string text;
    bool matched = false;
  };
  static std::vector<Glob> read_globs(const std::string& list);
  static const Glob* find_match(std::vector<Glob>& globs, const std::string& id, const std::string& file);

  const Configuration* configuration_ = nullptr;
  std::vector<Glob> select_, disable_;
  bool selecting_ = false;
};

}  // namespace backplane
