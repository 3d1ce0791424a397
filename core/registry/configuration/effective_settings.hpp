// EffectiveSettings: what is in force after configuration files were applied one over the other, and which of them says
// so. Thread safety: serialised by the caller.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backplane/registry/configuration.hpp"
#include "config_document.hpp"

namespace backplane {

class EffectiveSettings {
 public:
  // The keys of an entry, outermost first; an item of an array has its index, in digits that sort, as the last.
  using Path = std::vector<std::string>;
  using Entries = std::map<Path, ConfigurationEntry>;

  // Applies the changes of one more file over what is there.
  void apply(const std::vector<ConfigSetting>& settings, const std::string& file);
  const Entries& entries() const { return entries_; }

 private:
  void reset(const Path& path);
  void set(const ConfigSetting& setting, const std::string& file);
  void append(const ConfigSetting& setting, const std::string& file);

  Entries entries_;
};

}  // namespace backplane
