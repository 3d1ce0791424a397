#include "effective_settings.hpp"

#include <algorithm>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr size_t kIndexDigits = 8;  // a file of 1 MiB has fewer items than these can count, in any number of files

bool is_below(const EffectiveSettings::Path& path, const EffectiveSettings::Path& top) {
  return path.size() >= top.size() && std::equal(top.begin(), top.end(), path.begin());
}

ConfigurationEntry entry_of(std::string key, const Json& value, const std::string& file) {
  return {std::move(key), value, file, value.line(), value.column()};
}

}  // namespace

void EffectiveSettings::apply(const std::vector<ConfigSetting>& settings, const std::string& file) {
  for (const ConfigSetting& setting : settings) switch (setting.action) {
      case ConfigSetting::Action::set:
        set(setting, file);
        break;
      case ConfigSetting::Action::append:
        append(setting, file);
        break;
      case ConfigSetting::Action::reset:
        reset(setting.path);
        break;
    }
}

// All below a path follow it in the order of the map.
void EffectiveSettings::reset(const Path& path) {
  const auto first = entries_.lower_bound(path);
  auto last = first;
  while (last != entries_.end() && is_below(last->first, path)) ++last;
  entries_.erase(first, last);
}

void EffectiveSettings::set(const ConfigSetting& setting, const std::string& file) {
  // An option may have been an object in a lower file, or a part of it may have been a single value.
  reset(setting.path);
  for (Path above = setting.path; above.size() > 1;) {
    above.pop_back();
    entries_.erase(above);
  }
  entries_.emplace(setting.path, entry_of(join(setting.path, "."), setting.value, file));
}

void EffectiveSettings::append(const ConfigSetting& setting, const std::string& file) {
  size_t index = 0;
  for (auto at = entries_.lower_bound(setting.path); at != entries_.end() && is_below(at->first, setting.path); ++at)
    ++index;
  const std::string key = join(setting.path, ".");
  for (const Json& item : setting.value.items()) {
    const std::string digits = std::to_string(index);
    Path path = setting.path;
    path.push_back(std::string(kIndexDigits - std::min(digits.size(), kIndexDigits), '0') + digits);
    entries_.insert_or_assign(std::move(path), entry_of(cat(key, "[", index, "]"), item, file));
    ++index;
  }
}

}  // namespace backplane
