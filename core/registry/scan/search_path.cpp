#include "backplane/registry/search_path.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

constexpr const char* kFolder = "backplane/plugins.d";
constexpr const char* kReplace = "BACKPLANE_PLUGIN_PATH";
constexpr const char* kAdd = "BACKPLANE_ADD_PLUGIN_PATH";

// Lies in the core's own data, whoever links it. The address of an exported function might be the program's.
const char kInsideCore = 0;

class PathBuilder {
 public:
  explicit PathBuilder(const Environment& environment) : environment_(environment) {}

  // Empty elements, such as those of a trailing colon, are nothing.
  void add_list(std::string_view list, const std::string& source, std::string_view below, bool requested) {
    for (size_t at = 0; at <= list.size();) {
      const size_t colon = std::min(list.find(':', at), list.size());
      if (colon != at) add(source, std::string(list.substr(at, colon - at)), below, requested);
      at = colon + 1;
    }
  }
  void add(const std::string& source, std::string root, std::string_view below, bool requested = false) {
    if (!below.empty()) root = cat(root, "/", below);
    entries_.push_back({source, std::move(root), requested});
  }
  // $NAME/backplane/plugins.d, by default in `fallback` below the home folder. XDG says that a value which is not
  // absolute is as good as none.
  void add_home(const std::string& name, std::string_view fallback) {
    const std::string root = environment_.get(name).value_or("");
    const std::string home = environment_.get("HOME").value_or("");
    if (root.starts_with('/'))
      add(cat("env:", name), root, kFolder);
    else if (!home.empty())
      add(cat("env:", name), cat(home, "/", fallback), kFolder);
  }

  void add_beside_core() {
    if (const std::string core = core_library_path(); !core.empty())
      add("beside-core", std::filesystem::path(core).parent_path().string(), kFolder);
  }

  std::vector<SearchEntry> take() { return std::move(entries_); }

 private:
  const Environment& environment_;
  std::vector<SearchEntry> entries_;
};

}  // namespace

bool safe_mode(const Environment& environment) { return environment.get("BACKPLANE_SAFE_MODE") == "1"; }

std::string core_library_path() {
  Dl_info info = {};
  link_map* map = nullptr;
  if (dladdr1(&kInsideCore, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  const std::string name = map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe";
  std::error_code error;
  const auto real = std::filesystem::canonical(name, error);
  return error ? std::string() : real.string();
}

std::vector<SearchEntry> search_path(const SearchOptions& options) {
  PathBuilder path(options.environment);
  for (const std::string& entry : options.api_paths) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(entry, error);
    path.add("api", error ? entry : absolute.string(), "", true);
  }
  if (!options.search_system) return path.take();
  if (safe_mode(options.environment)) {
    path.add_beside_core();
    return path.take();
  }
  if (const auto replacement = options.environment.get(kReplace)) {
    path.add_list(*replacement, cat("env:", kReplace), "", true);
    return path.take();
  }
  path.add_list(options.environment.get(kAdd).value_or(""), cat("env:", kAdd), "", true);
  for (const std::string& folder : options.configured) path.add("config", folder, "", true);
  path.add_home("XDG_CONFIG_HOME", ".config");
  path.add_home("XDG_DATA_HOME", ".local/share");
  path.add_beside_core();
  path.add("etc", "/etc", kFolder);
  const std::string data = options.environment.get("XDG_DATA_DIRS").value_or("");
  path.add_list(data.empty() ? "/usr/local/share:/usr/share" : data, "env:XDG_DATA_DIRS", kFolder, false);
  path.add("libdir", BACKPLANE_LIBDIR, kFolder);
  return path.take();
}

}  // namespace backplane
