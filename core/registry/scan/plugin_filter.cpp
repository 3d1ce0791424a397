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

}  // namespace

PluginFilter::PluginFilter(const Environment& environment, const Configuration& configuration)
    : configuration_(&configuration) {
  const std::string select = environment.get(kSelect).value_or("");
  selecting_ = !select.empty();
  select_ = read_globs(select);
  disable_ = read_globs(environment.get(kDisable).value_or(""));
}

std::vector<PluginFilter::Glob> PluginFilter::read_globs(const std::string& list) {
  std::vector<Glob> globs;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    if (std::string glob = trimmed(std::string_view(list).substr(at, comma - at)); !glob.empty())
      globs.push_back({std::move(glob)});
    at = comma + 1;
  }
  return globs;
}

// The first that matches; all that match are marked.
const PluginFilter::Glob* PluginFilter::find_match(std::vector<Glob>& globs, const std::string& id,
                                                   const std::string& file) {
  const Glob* first = nullptr;
  for (Glob& glob : globs) {
    if (!glob_match(glob.text, id) && !glob_match(glob.text, file)) continue;
    glob.matched = true;
    if (!first) first = &glob;
  }
  return first;
}

Status PluginFilter::check(const std::string& plugin_id, const std::string& file_name) {
  const Glob* selected = find_match(select_, plugin_id, file_name);
  if (const Glob* glob = find_match(disable_, plugin_id, file_name))
    return failed_precondition(cat("switched off by '", glob->text, "' in ", kDisable), "filter.disabled");
  if (configuration_ && configuration_->plugin(plugin_id).enabled == false) {
    const ConfigurationEntry* entry = configuration_->find(cat("plugins.", plugin_id, ".enabled"));
    return failed_precondition(
        cat("switched off by the configuration", entry ? cat(" (", entry->file, ":", entry->line, ")") : ""),
        "filter.disabled");
  }
  if (selecting_ && !selected) {
    std::vector<std::string> globs;
    for (const Glob& glob : select_) globs.push_back(glob.text);
    return failed_precondition(cat("matches none of '", join(globs, ","), "' in ", kSelect), "filter.not-selected");
  }
  return {};
}

std::vector<Notice> PluginFilter::notices() const {
  std::vector<Notice> notices;
  const auto add = [&](const std::vector<Glob>& globs, const char* variable) {
    for (const Glob& glob : globs)
      if (!glob.matched)
        notices.push_back({Severity::warning, "filter.no-match",
                           cat("'", glob.text, "' in ", variable, " matches no plugin that was found"),
                           "`backplane plugins` lists ids and files", "", 0, 0});
  };
  add(select_, kSelect);
  add(disable_, kDisable);
  return notices;
}

}  // namespace backplane
