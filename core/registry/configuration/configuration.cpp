#include "backplane/registry/configuration.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "backplane/base/text.hpp"
#include "backplane/registry/search_path.hpp"
#include "base/regular_file.hpp"
#include "config_document.hpp"
#include "effective_settings.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "backplane/conf.d";
constexpr const char* kFileVariable = "BACKPLANE_CONFIG";
constexpr const char* kProbeVariable = "BACKPLANE_PROBE";
constexpr const char* kUserVariable = "XDG_CONFIG_HOME";

bool is_absolute(std::string_view path) { return path.starts_with('/'); }

// What a file says, and where to say that it says it wrongly.
class ConfigurationLoader {
 public:
  ConfigurationLoader(const Environment& environment, const std::vector<std::string>& folders)
      : environment_(environment), folders_(folders) {}

  Configuration load();

 private:
  void notice(Severity severity, std::string_view code, std::string_view message, std::string_view hint,
              const std::string& file = {}, JsonFault at = {});
  void list_files();
  void list_folder(const std::string& folder);
  void add_file_of_environment();
  void drop_repeated();
  void apply_file(ConfigurationFile& file);
  Result<ConfigDocument> read_file(const ConfigurationFile& file, JsonFault& fault) const;
  void apply_probe_of_environment();
  void fill_values();

  const Environment& environment_;
  const std::vector<std::string>& folders_;
  std::map<std::string, size_t> names_;  // file name -> the highest file of that name, by index
  std::vector<size_t> order_;            // of application
  EffectiveSettings settings_;
  Configuration configuration_;
};

Configuration ConfigurationLoader::load() {
  if (!safe_mode(environment_)) {
    list_files();
    for (const size_t index : order_) apply_file(configuration_.files[index]);
  }
  apply_probe_of_environment();
  fill_values();
  return std::move(configuration_);
}

void ConfigurationLoader::notice(Severity severity, std::string_view code, std::string_view message,
                                 std::string_view hint, const std::string& file, JsonFault at) {
  configuration_.notices.push_back(
      {severity, std::string(code), printable(message), std::string(hint), file, at.line, at.column});
}

void ConfigurationLoader::list_files() {
  for (const std::string& folder : folders_) {
    if (is_absolute(folder))
      list_folder(folder);
    else
      notice(Severity::warning, "config.relative", cat("the configuration folder '", folder, "' is not absolute"),
             "name it from '/' on");
  }
  for (const auto& [name, index] : names_) order_.push_back(index);
  add_file_of_environment();
  drop_repeated();
}

void ConfigurationLoader::list_folder(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (std::string name = at->path().filename().string(); name.ends_with(".json") && !name.starts_with('.'))
      names.push_back(std::move(name));
  if (error && error != std::errc::no_such_file_or_directory)
    notice(Severity::warning, "config.unreadable", cat("cannot list '", folder, "': ", error.message()),
           "what its files say is not in force", folder);
  std::sort(names.begin(), names.end());
  std::vector<ConfigurationFile>& files = configuration_.files;
  for (const std::string& name : names) {
    const std::string path = cat(folder, folder.ends_with('/') ? "" : "/", name);
    if (const auto lower = names_.find(name); lower != names_.end()) {
      files[lower->second].state = ConfigurationFile::State::replaced;
      files[lower->second].by = path;
    }
    names_[name] = files.size();
    files.push_back({path, ConfigurationFile::State::used, ""});
  }
}

void ConfigurationLoader::add_file_of_environment() {
  const std::string path = environment_.get(kFileVariable).value_or("");
  if (path.empty()) return;
  if (!is_absolute(path))
    return notice(Severity::error, "config.relative",
                  cat(kFileVariable, " is '", path, "', which is no absolute path; it is not read"),
                  "name the file from '/' on");
  order_.push_back(configuration_.files.size());
  configuration_.files.push_back({path, ConfigurationFile::State::used, ""});
}

// One file under two names would append its arrays twice; it counts where it has the most weight.
void ConfigurationLoader::drop_repeated() {
  std::map<FileIdentity, size_t> last;
  for (const size_t index : order_) {
    ConfigurationFile& file = configuration_.files[index];
    struct stat info = {};
    if (::stat(file.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const auto [earlier, first] = last.try_emplace(FileIdentity{info.st_dev, info.st_ino}, index);
    if (first) continue;
    configuration_.files[earlier->second].state = ConfigurationFile::State::replaced;
    configuration_.files[earlier->second].by = file.path;
    earlier->second = index;
  }
}

void ConfigurationLoader::apply_file(ConfigurationFile& file) {
  if (file.state != ConfigurationFile::State::used) return;
  if (leads_to_null_device(file.path)) {
    file.state = ConfigurationFile::State::masked;
    return;
  }
  JsonFault fault;
  Result<ConfigDocument> document = read_file(file, fault);
  if (!document) {
    file.state = ConfigurationFile::State::broken;
    const Status& status = document.status();
    return notice(Severity::error, status.id(), status.message(), "correct it; nothing that it says is in force",
                  file.path, fault);
  }
  for (const Notice& one : document->notices)
    notice(one.severity, one.code, one.message, one.hint, one.file, {one.line, one.column});
  settings_.apply(document->settings, file.path);
}

Result<ConfigDocument> ConfigurationLoader::read_file(const ConfigurationFile& file, JsonFault& fault) const {
  const Result<RegularFile> opened = RegularFile::open(file.path);
  if (!opened) {
    const Status& status = opened.status();
    const bool named = environment_.get(kFileVariable) == file.path;
    if (status.id() == "file.not-regular") return Status(status.code(), status.message(), "config.not-regular");
    if (status.id() == "file.missing" && named)
      return not_found(cat(kFileVariable, " names '", file.path, "', which is not there"), "config.missing");
    return Status(status.code(), status.message(), "config.unreadable");
  }
  const Result<std::string> text = opened->read_text(kConfigMaxBytes);
  if (text) return parse_config(*text, file.path, &fault);
  const Status status = text.status().with_context(file.path);
  return Status(status.code(), status.message(),
                status.id() == "file.too-large" ? "config.too-large" : "config.unreadable");
}

void ConfigurationLoader::apply_probe_of_environment() {
  const std::string word = environment_.get(kProbeVariable).value_or("");
  if (word.empty()) return;
  if (!parse_probe(word))
    return notice(Severity::error, "env.value", cat(kProbeVariable, " is '", word, "'; wanted ", probe_words(word)),
                  "it is passed over");
  settings_.apply({{ConfigSetting::Action::set, {"probe"}, Json::text(word)}}, cat("env:", kProbeVariable));
}

// ---- from entries to typed values. Their types were checked when the files were read.

using Entry = EffectiveSettings::Entries::const_iterator;

// The entries from `at` on that share its first `depth` steps, as nested objects; leaves `at` behind them.
Json take_object(Entry& at, Entry end, size_t depth) {
  const EffectiveSettings::Path top(at->first.begin(), at->first.begin() + static_cast<ptrdiff_t>(depth));
  std::vector<Json::Member> members;
  while (at != end && at->first.size() > depth && std::equal(top.begin(), top.end(), at->first.begin())) {
    const std::string name = at->first[depth];
    if (at->first.size() == depth + 1)
      members.emplace_back(name, (at++)->second.value);
    else
      members.emplace_back(name, take_object(at, end, depth + 1));
  }
  return Json::object(std::move(members));
}

void set_plugin_value(PluginConfiguration& plugin, const std::string& key, const Json& value) {
  if (key == "enabled") plugin.enabled = value.as_boolean();
  if (key == "required") plugin.required = value.as_boolean();
  if (key == "priority") plugin.priority = value.as_integer();
  if (key == "sha256") plugin.sha256 = value.as_text();
}

void set_value(Configuration& configuration, const EffectiveSettings::Path& path, const Json& value) {
  const std::string& key = path[0];
  if (key == "devices")
    (path[1] == "order" ? configuration.device_order : configuration.device_hide).push_back(value.as_text());
  if (key == "plugin_dirs") configuration.plugin_folders.push_back(value.as_text());
  if (key == "trust") configuration.trust = parse_trust(value.as_text()).value_or(configuration.trust);
  if (key == "probe") configuration.probe = parse_probe(value.as_text()).value_or(configuration.probe);
  if (key == "probe_timeout_ms") configuration.probe_timeout_ms = static_cast<uint32_t>(value.as_integer());
}

void ConfigurationLoader::fill_values() {
  const EffectiveSettings::Entries& entries = settings_.entries();
  for (const auto& [path, entry] : entries) configuration_.entries.push_back(entry);
  for (Entry at = entries.begin(); at != entries.end();) {
    const EffectiveSettings::Path& path = at->first;
    if (path[0] != "plugins") {
      set_value(configuration_, path, (at++)->second.value);
      continue;
    }
    PluginConfiguration& plugin = configuration_.plugins[path[1]];
    if (path[2] == "options") {
      plugin.options = take_object(at, entries.end(), 3);
      continue;
    }
    set_plugin_value(plugin, path[2], (at++)->second.value);
  }
}

// The user's configuration folder, or "". XDG says that a value which is not absolute is as good as none.
std::string user_folder(const Environment& environment) {
  const std::string own = environment.get(kUserVariable).value_or("");
  if (is_absolute(own)) return own;
  const std::string home = environment.get("HOME").value_or("");
  return is_absolute(home) ? cat(home, "/.config") : "";
}

}  // namespace

const PluginConfiguration& Configuration::plugin(std::string_view id) const {
  static const PluginConfiguration kDefaults;
  const auto found = plugins.find(id);
  return found == plugins.end() ? kDefaults : found->second;
}

const ConfigurationEntry* Configuration::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<std::string> configuration_folders(const Environment& environment) {
  std::vector<std::string> folders = {cat("/usr/share/", kFolder), cat("/etc/", kFolder)};
  if (const std::string user = user_folder(environment); !user.empty()) folders.push_back(cat(user, "/", kFolder));
  return folders;
}

Configuration load_configuration(const Environment& environment) {
  Configuration configuration = load_configuration(environment, configuration_folders(environment));
  const std::string own = environment.get(kUserVariable).value_or("");
  if (!own.empty() && !is_absolute(own))
    configuration.notices.push_back({Severity::warning, "config.relative",
                                     printable(cat(kUserVariable, " is '", own, "', which is no absolute path")),
                                     "it is passed over, as if it were not set", "", 0, 0});
  return configuration;
}

Configuration load_configuration(const Environment& environment, const std::vector<std::string>& folders) {
  return ConfigurationLoader(environment, folders).load();
}

}  // namespace backplane
