#include "plugin_filter.hpp"

#include <algorithm>
#include <string_view>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr const char* kSelect = "BACKPLANE_PLUGINS_SELECT";
constexpr const char* kDisable = "BACKPLANE_PLUGINS_DISABLE";

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::vector<std::string> read_globs(std::string_view list) {
  std::vector<std::string> globs;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    if (std::string glob = trimmed(list.substr(at, comma - at)); !glob.empty()) globs.push_back(std::move(glob));
    at = comma + 1;
  }
  return globs;
}

const std::string* find_match(const std::vector<std::string>& globs, const std::string& id, const std::string& file) {
  const auto found = std::find_if(globs.begin(), globs.end(), [&](const std::string& glob) {
    return glob_match(glob, id) || glob_match(glob, file);
  });
  return found == globs.end() ? nullptr : &*found;
}

}  // namespace

PluginFilter::PluginFilter(const Environment& environment) {
  const auto select = environment.get(kSelect);
  selecting_ = select && !select->empty();
  select_ = read_globs(select.value_or(""));
  disable_ = read_globs(environment.get(kDisable).value_or(""));
}

Status PluginFilter::check(const std::string& plugin_id, const std::string& file_name) const {
  if (const std::string* glob = find_match(disable_, plugin_id, file_name))
    return failed_precondition(cat("switched off by '", *glob, "' in ", kDisable), "filter.disabled");
  if (selecting_ && !find_match(select_, plugin_id, file_name))
    return failed_precondition(cat("matches none of '", join(select_, ","), "' in ", kSelect), "filter.not-selected");
  return {};
}

}  // namespace backplane
