// Fuzzes the configuration: parse_config, the merge of two files, and the values in force. The input is the text of the
// lower file; what follows a line "---" is the text of the higher one.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backplane/base/text.hpp"
#include "property.hpp"
#include "registry/configuration/config_document.hpp"
#include "registry/configuration/effective_settings.hpp"
#include "registry/manifest/text_form.hpp"
#include "scratch_folder.hpp"

namespace backplane {
namespace {

using Action = ConfigSetting::Action;
using Path = std::vector<std::string>;

constexpr std::string_view kSeparator = "\n---\n";

bool is_at_or_below(const Path& path, const Path& top) {
  return path.size() >= top.size() && std::equal(top.begin(), top.end(), path.begin());
}

// ---- one file

std::string facts_of(const Result<ConfigDocument>& document) {
  if (!document) return cat(document.status().to_string(), " ", document.status().id());
  std::string text;
  for (const ConfigSetting& one : document->settings)
    text += cat(static_cast<int>(one.action), ' ', join(one.path, "/"), '=', one.value.dump(), '\n');
  for (const Notice& one : document->notices) text += cat(one.code, ' ', one.message, ' ', one.hint, '\n');
  return text;
}

void require_plugin_value(const Path& path, const Json& value) {
  require(path.size() >= 3, "a plugin as a whole has no value");
  const std::string& key = path[2];
  if (key == "enabled" || key == "required") return require(value.is(Json::Kind::boolean), "a flag is true or false");
  if (key == "sha256") return require(is_sha256(value.as_text()), "a hash is 64 digits");
  if (key == "priority")
    return require(value.as_integer() >= -1000 && value.as_integer() <= 1000, "a priority is in its range");
  require(key == "options" && path.size() >= 4, cat("'", key, "' is a key of a plugin"));
  for (size_t i = 3; i < path.size(); ++i) require(is_option_name(path[i]), cat("'", path[i], "' names an option"));
  require(!value.is(Json::Kind::object) && !value.is(Json::Kind::null), "a set option is a leaf");
}

void require_value(const Path& path, const Json& value) {
  const std::string& key = path[0];
  if (key == "plugins") return require_plugin_value(path, value);
  require(path.size() == 1, cat("'", key, "' has no parts"));
  if (key == "trust") return require(parse_trust(value.as_text()).has_value(), "trust is one of its words");
  if (key == "probe") return require(parse_probe(value.as_text()).has_value(), "probe is one of its words");
  require(key == "probe_timeout_ms" && value.as_integer() >= 100 && value.as_integer() <= 120000,
          cat("'", key, "' is a time limit in its range"));
}

void require_list(const Path& path, const Json& list) {
  const std::string key = join(path, ".");
  require(key == "plugin_dirs" || key == "devices.order" || key == "devices.hide", cat("'", key, "' is a list"));
  for (const Json& item : list.items()) {
    require(!item.as_text().empty() && item.as_text().find('\0') == std::string::npos, "items are texts");
    require(key != "plugin_dirs" || item.as_text().front() == '/', "folders are absolute");
  }
}

void require_sound(const ConfigDocument& document) {
  for (const ConfigSetting& setting : document.settings) {
    require(setting.value.line() >= 1 && setting.value.column() >= 1, "a setting has its place");
    require(setting.path[0] != "plugins" || setting.path.size() < 2 || is_plugin_id(setting.path[1]),
            "plugins are named by id");
    if (setting.action == Action::set) require_value(setting.path, setting.value);
    if (setting.action == Action::append) require_list(setting.path, setting.value);
    require((setting.action == Action::reset) == setting.value.is(Json::Kind::null), "null resets, all else does not");
  }
  for (const Notice& notice : document.notices) {
    require(notice.code == "config.unknown-key" && notice.line >= 1, "a notice is of a key that is passed over");
    require(is_utf8(notice.message) && notice.message.size() <= 1024, "a notice is short and UTF-8");
  }
}

void check_document(std::string_view text, std::string_view file) {
  JsonFault fault;
  const Result<ConfigDocument> document = parse_config(text, file, &fault);
  require(facts_of(parse_config(text, file)) == facts_of(document), "reading twice gives the same");
  if (!document) return require_document_refusal(document.status(), fault, text, file, "config", {});
  require_sound(*document);
  const Result<Json> json = parse_json(text, file);
  require(json.ok(), "an accepted file is JSON");
  const Result<ConfigDocument> anew = parse_config(json->dump(), file);
  require(anew.ok() && anew->settings.size() == document->settings.size(),
          "a file reads the same after it was written anew");
}

// ---- files over one another

size_t count_below(const EffectiveSettings::Entries& entries, const Path& top) {
  return static_cast<size_t>(
      std::count_if(entries.begin(), entries.end(), [&](const auto& one) { return is_at_or_below(one.first, top); }));
}

// A value is a leaf: no other lies below it. Those below would follow it in the order of the map.
void require_leaves(const EffectiveSettings::Entries& entries) {
  const Path* before = nullptr;
  for (const auto& [path, entry] : entries) {
    require(before == nullptr || !is_at_or_below(path, *before), cat("nothing lies below '", entry.key, "'"));
    before = &path;
  }
}

// Applies a file and checks that each of its changes is in force: no two of one file touch the same value.
void apply(EffectiveSettings& settings, const ConfigDocument& document, const std::string& file) {
  const EffectiveSettings::Entries before = settings.entries();
  settings.apply(document.settings, file);
  const EffectiveSettings::Entries& after = settings.entries();
  require_leaves(after);
  for (const ConfigSetting& setting : document.settings) {
    const size_t count = count_below(after, setting.path);
    if (setting.action == Action::reset) {
      require(count == 0, "what is reset is gone");
    } else if (setting.action == Action::append) {
      require(count == count_below(before, setting.path) + setting.value.items().size(), "lists grow by what is added");
    } else {
      const auto found = after.find(setting.path);
      require(found != after.end() && count == 1, "what is set is there, alone");
      require(found->second.file == file && found->second.line == setting.value.line(), "a value knows its origin");
      require(found->second.value.dump() == setting.value.dump(), "the later file wins");
    }
  }
}

// ---- the values in force, by way of files

size_t count_leaves(const Json& options) {
  if (!options.is(Json::Kind::object)) return 1;
  size_t count = 0;
  for (const auto& [name, value] : options.members()) count += count_leaves(value);
  return count;
}

void require_values(const Configuration& configuration, const EffectiveSettings::Entries& entries) {
  require(configuration.entries.size() == entries.size(), "the entries are those of the files");
  size_t i = 0;
  for (const auto& [path, entry] : entries) {
    const ConfigurationEntry& other = configuration.entries[i++];
    require(other.key == entry.key && other.file == entry.file && other.line == entry.line &&
                other.value.dump() == entry.value.dump(),
            cat("'", entry.key, "' is in force as the files say"));
  }
  for (const auto& [id, plugin] : configuration.plugins) {
    require(count_leaves(plugin.options) == count_below(entries, {"plugins", id, "options"}),
            "every option is among the values");
    require(plugin.priority >= -1000 && plugin.priority <= 1000, "a priority is in its range");
  }
  require(configuration.device_order.size() + configuration.device_hide.size() == count_below(entries, {"devices"}) &&
              configuration.plugin_folders.size() == count_below(entries, {"plugin_dirs"}),
          "every item is among the values");
  for (const Notice& notice : configuration.notices)
    require(printable(notice.message) == notice.message, "notices can be shown as they are");
}

void check_files(std::string_view lower, std::string_view higher) {
  static const ScratchFolder kFolder;
  const std::string_view texts[] = {lower, higher};
  const std::string paths[] = {kFolder.write("10-lower.json", lower), kFolder.write("20-higher.json", higher)};
  const Configuration configuration = load_configuration(Environment(), {kFolder.path()});
  require(configuration.files.size() == std::size(paths), "both files are found");
  EffectiveSettings settings;
  for (size_t i = 0; i < std::size(paths); ++i) {
    const Result<ConfigDocument> document = parse_config(texts[i], paths[i]);
    require((configuration.files[i].state == ConfigurationFile::State::used) == document.ok(),
            "a file is used if it is sound");
    if (document) apply(settings, *document, paths[i]);
  }
  require_values(configuration, settings.entries());
}

}  // namespace
}  // namespace backplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find(backplane::kSeparator);
  const std::string_view lower = text.substr(0, end);
  const std::string_view higher =
      end == std::string_view::npos ? std::string_view() : text.substr(end + backplane::kSeparator.size());
  backplane::check_document(lower, "lower.json");
  backplane::check_document(higher, "higher.json");
  backplane::check_files(lower, higher);
  return 0;
}
