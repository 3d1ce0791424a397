#include "backplane/registry/configuration.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using State = ConfigurationFile::State;

const char* const kFolders[] = {"usr", "etc", "user"};  // lowest first

class ConfigurationTest : public ::testing::Test {
 protected:
  ConfigurationTest() {
    world_.set("BACKPLANE_PROBE", "");
    for (const char* folder : kFolders) folders_.push_back(world_.folder(folder).string());
  }

  // Writes FOLDER/NAME with further members, one line each from line 2 on.
  std::string write(const std::string& folder, const std::string& name, const std::string& members = "") {
    const std::string text = "{\"file_format_version\": \"1.0\"" + (members.empty() ? "" : ",\n" + members) + "}\n";
    return world_.write(world_.folder(folder) / name, text).string();
  }
  std::string link(const std::string& target, const std::string& folder, const std::string& name) {
    const fs::path path = world_.folder(folder) / name;
    fs::create_symlink(target, path);
    return path.string();
  }
  Configuration load() const { return load_configuration(world_.environment(), folders_); }

  static State state_of(const Configuration& configuration, const std::string& path) {
    for (const ConfigurationFile& file : configuration.files)
      if (file.path == path) return file.state;
    ADD_FAILURE() << path << " is not listed";
    return State::used;
  }
  static std::string by(const Configuration& configuration, const std::string& path) {
    for (const ConfigurationFile& file : configuration.files)
      if (file.path == path) return file.by;
    return "not listed";
  }
  // The notices as "severity code" of all of them.
  static std::vector<std::string> codes(const Configuration& configuration) {
    std::vector<std::string> codes;
    for (const Notice& notice : configuration.notices)
      codes.push_back(std::string(severity_name(notice.severity)) + " " + notice.code);
    return codes;
  }
  using Codes = std::vector<std::string>;
  using Texts = std::vector<std::string>;

  PluginWorld world_;
  std::vector<std::string> folders_;
};

TEST_F(ConfigurationTest, NothingGivesDefaults) {
  folders_.push_back((world_.root() / "absent").string());
  const Configuration configuration = load();
  EXPECT_TRUE(configuration.entries.empty());
  EXPECT_TRUE(configuration.files.empty());
  EXPECT_EQ(codes(configuration), Codes{});
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
  EXPECT_EQ(configuration.probe, ProbePolicy::cached);
  EXPECT_EQ(configuration.probe_timeout_ms, 10000u);
  const PluginConfiguration& plugin = configuration.plugin("org.test.nobody");
  EXPECT_FALSE(plugin.enabled.has_value());
  EXPECT_FALSE(plugin.required.has_value());
  EXPECT_EQ(plugin.priority, 0);
  EXPECT_EQ(plugin.options.dump(-1), "{}");
  EXPECT_EQ(configuration.find("trust"), nullptr);
}

TEST_F(ConfigurationTest, ReadsEveryKey) {
  const std::string sha(64, 'a');
  write("etc", "a.json", R"("plugins": {"org.test.a": {"enabled": false, "required": true, "priority": -7,
    "sha256": ")" + sha + R"(", "options": {"n": 4, "deep": {"b": [1, null], "a": "x"}}}},
  "devices": {"order": ["gpu0", "cpu0"], "hide": ["org.test.a:1"]},
  "plugin_dirs": ["/opt/a", "/opt/b"], "trust": "strict", "probe": "always", "probe_timeout_ms": 120000, "x-own": 1)");
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), Codes{});
  const PluginConfiguration& plugin = configuration.plugin("org.test.a");
  EXPECT_EQ(plugin.enabled, false);
  EXPECT_EQ(plugin.required, true);
  EXPECT_EQ(plugin.priority, -7);
  EXPECT_EQ(plugin.sha256, sha);
  EXPECT_EQ(plugin.options.dump(-1), R"({"deep": {"a": "x", "b": [1, null]}, "n": 4})");
  EXPECT_EQ(configuration.device_order, (Texts{"gpu0", "cpu0"}));
  EXPECT_EQ(configuration.device_hide, Texts{"org.test.a:1"});
  EXPECT_EQ(configuration.plugin_folders, (Texts{"/opt/a", "/opt/b"}));
  EXPECT_EQ(configuration.trust, TrustPolicy::strict);
  EXPECT_EQ(configuration.probe, ProbePolicy::always);
  EXPECT_EQ(configuration.probe_timeout_ms, 120000u);
}

// ---- precedence, cell by cell

// Where a file lies; `folder` 3 = BACKPLANE_CONFIG.
struct Source {
  int folder;
  const char* name;
};

class ConfigurationPrecedence : public ConfigurationTest {
 protected:
  std::string put(const Source& source, const std::string& members) {
    const std::string path = write(source.folder < 3 ? kFolders[source.folder] : "elsewhere", source.name, members);
    if (source.folder == 3) world_.set("BACKPLANE_CONFIG", path);
    return path;
  }
  // Whether `a` has more weight than `b`, by the documentation's table.
  static bool outweighs(const Source& a, const Source& b) {
    if (a.folder == 3 || b.folder == 3) return a.folder == 3;
    const std::string_view a_name = a.name, b_name = b.name;
    return a_name == b_name ? a.folder > b.folder : a_name > b_name;
  }
};

TEST_F(ConfigurationPrecedence, C23EveryPairOfPlacesAndNames) {
  const char* const kNames[] = {"10.json", "9.json", "B.json", "a.json", "\xC3\xA4.json"};  // in the order of bytes
  int cells = 0;
  for (int low = 0; low < 4; ++low)
    for (int high = 0; high < 4; ++high)
      for (const char* low_name : kNames)
        for (const char* high_name : kNames) {
          const Source a = {low, low_name}, b = {high, high_name};
          if (low == high && (low == 3 || std::string_view(low_name) == high_name)) continue;
          SCOPED_TRACE(std::to_string(low) + low_name + " and " + std::to_string(high) + high_name);
          for (const char* folder : {"usr", "etc", "user", "elsewhere"}) fs::remove_all(world_.root() / folder);
          world_.set("BACKPLANE_CONFIG", "");
          const std::string a_path = put(a, "\"probe_timeout_ms\": 1000");
          const std::string b_path = put(b, "\"probe_timeout_ms\": 2000");
          const Configuration configuration = load();
          EXPECT_EQ(configuration.probe_timeout_ms, outweighs(a, b) ? 1000u : 2000u);
          const ConfigurationEntry* entry = configuration.find("probe_timeout_ms");
          ASSERT_NE(entry, nullptr);
          EXPECT_EQ(entry->file, outweighs(a, b) ? a_path : b_path);
          EXPECT_EQ(codes(configuration), Codes{});
          ++cells;
        }
  EXPECT_EQ(cells, 4 * 4 * 25 - 25 - 3 * 5);
}

struct Scalar {
  const char* key;
  const char* members;  // % is the value
  const char* low;
  const char* high;
  std::function<std::string(const Configuration&)> typed;  // the value in force, or the default
  const char* fallback;                                    // what typed() gives if nothing is said
};

const PluginConfiguration& plugin_a(const Configuration& configuration) { return configuration.plugin("org.test.a"); }
std::string flag_text(std::optional<bool> flag) { return flag ? *flag ? "true" : "false" : "none"; }

std::vector<Scalar> scalars() {
  using C = Configuration;
  static const std::string kA = "\"" + std::string(64, 'a') + "\"", kB = "\"" + std::string(64, 'b') + "\"";
  const auto options = [](const C& c) { return plugin_a(c).options.dump(-1); };
  return {
      {"trust", "\"trust\": %", "\"strict\"", "\"normal\"",
       [](const C& c) { return c.trust == TrustPolicy::strict ? "\"strict\"" : "\"normal\""; }, "\"normal\""},
      {"probe", "\"probe\": %", "\"always\"", "\"off\"",
       [](const C& c) {
         return c.probe == ProbePolicy::off ? "\"off\"" : c.probe == ProbePolicy::always ? "\"always\"" : "\"cached\"";
       },
       "\"cached\""},
      {"probe_timeout_ms", "\"probe_timeout_ms\": %", "1000", "2000",
       [](const C& c) { return std::to_string(c.probe_timeout_ms); }, "10000"},
      {"plugins.org.test.a.enabled", "\"plugins\": {\"org.test.a\": {\"enabled\": %}}", "true", "false",
       [](const C& c) { return flag_text(plugin_a(c).enabled); }, "none"},
      {"plugins.org.test.a.required", "\"plugins\": {\"org.test.a\": {\"required\": %}}", "false", "true",
       [](const C& c) { return flag_text(plugin_a(c).required); }, "none"},
      {"plugins.org.test.a.priority", "\"plugins\": {\"org.test.a\": {\"priority\": %}}", "1000", "-1000",
       [](const C& c) { return std::to_string(plugin_a(c).priority); }, "0"},
      {"plugins.org.test.a.sha256", "\"plugins\": {\"org.test.a\": {\"sha256\": %}}", kA.c_str(), kB.c_str(),
       [](const C& c) { return "\"" + plugin_a(c).sha256 + "\""; }, "\"\""},
      {"plugins.org.test.a.options.o", "\"plugins\": {\"org.test.a\": {\"options\": {\"o\": %}}}", "{\"n\": 1}",
       "[2, 3]",
       [](const C& c) {
         const Json* option = plugin_a(c).options.find("o");
         return option ? option->dump(-1) : "none";
       },
       "none"},
      {"plugins.org.test.a.options.o.p", "\"plugins\": {\"org.test.a\": {\"options\": {\"o\": {\"p\": %}}}}", "\"x\"",
       "0.5",
       [options](const C& c) {
         const std::string text = options(c);
         return text == "{}" ? "none" : text.substr(12, text.size() - 14);  // of {"o": {"p": ...}}
       },
       "none"},
  };
}

std::string filled(const Scalar& scalar, const std::string& value) {
  std::string members = scalar.members;
  return members.replace(members.find('%'), 1, value);
}

TEST_F(ConfigurationTest, C24LaterScalarWinsForEveryKey) {
  for (const Scalar& scalar : scalars()) {
    SCOPED_TRACE(scalar.key);
    fs::remove_all(world_.root() / "etc");
    write("etc", "1.json", filled(scalar, scalar.low));
    EXPECT_EQ(scalar.typed(load()), scalar.low);
    const std::string high = write("etc", "2.json", filled(scalar, scalar.high));
    const Configuration configuration = load();
    EXPECT_EQ(scalar.typed(configuration), scalar.high);
    ASSERT_EQ(configuration.entries.size(), 1u);
    EXPECT_EQ(configuration.entries[0].key, scalar.key);
    EXPECT_EQ(configuration.entries[0].value.dump(-1), scalar.high);
    EXPECT_EQ(configuration.entries[0].file, high);
    // A file that says nothing of the key changes nothing.
    write("etc", "3.json", "\"x-own\": 1");
    EXPECT_EQ(scalar.typed(load()), scalar.high);
  }
}

TEST_F(ConfigurationTest, C26NullResetsEveryScalar) {
  for (const Scalar& scalar : scalars()) {
    SCOPED_TRACE(scalar.key);
    fs::remove_all(world_.root() / "etc");
    write("etc", "1.json", filled(scalar, scalar.low));
    write("etc", "2.json", filled(scalar, "null"));
    const Configuration reset = load();
    EXPECT_EQ(scalar.typed(reset), scalar.fallback);
    EXPECT_TRUE(reset.entries.empty());
    write("etc", "3.json", filled(scalar, scalar.high));
    EXPECT_EQ(scalar.typed(load()), scalar.high);
  }
}

TEST_F(ConfigurationTest, C25ArraysAppendWithTheOriginOfEachItem) {
  const std::string low = write("usr", "1.json", R"("plugin_dirs": ["/z", "/y"], "devices": {"order": ["b"],
 "hide": ["h"]})");
  const std::string high = write("user", "2.json", R"("plugin_dirs": ["/x"], "devices": {"order": [], "hide": ["g"]})");
  Configuration configuration = load();
  EXPECT_EQ(configuration.plugin_folders, (Texts{"/z", "/y", "/x"}));
  EXPECT_EQ(configuration.device_order, Texts{"b"});
  EXPECT_EQ(configuration.device_hide, (Texts{"h", "g"}));
  ASSERT_NE(configuration.find("plugin_dirs[1]"), nullptr);
  EXPECT_EQ(configuration.find("plugin_dirs[1]")->file, low);
  EXPECT_EQ(configuration.find("plugin_dirs[2]")->file, high);
  EXPECT_EQ(configuration.find("devices.hide[0]")->line, 3u);

  write("user", "3.json", R"("plugin_dirs": null, "devices": {"hide": null})");
  write("user", "4.json", R"("devices": {"hide": ["f"]})");
  configuration = load();
  EXPECT_EQ(configuration.plugin_folders, Texts{});
  EXPECT_EQ(configuration.device_order, Texts{"b"});
  EXPECT_EQ(configuration.device_hide, Texts{"f"});
  EXPECT_EQ(configuration.find("devices.hide[0]")->value.as_text(), "f");
}

TEST_F(ConfigurationTest, C25ArraysOfMoreThanNineItemsKeepTheirOrder) {
  std::string items;
  Texts expected;
  for (int i = 0; i < 12; ++i) {
    expected.push_back("d" + std::to_string(i));
    items += (i ? ", \"d" : "\"d") + std::to_string(i) + "\"";
  }
  write("etc", "1.json", "\"devices\": {\"order\": [" + items + "]}");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.device_order, expected);
  EXPECT_EQ(configuration.entries[10].key, "devices.order[10]");
}

TEST_F(ConfigurationTest, C26NullResetsAllBelow) {
  write("etc", "1.json", R"("plugins": {"a": {"priority": 1, "options": {"x": 1, "y": {"z": 2}}}, "b": {"priority": 2},
    "a.b": {"priority": 3}}, "devices": {"order": ["d"]}, "trust": "strict")");
  const struct {
    const char* members;
    Texts left;
  } cases[] = {
      {R"("plugins": {"a": {"options": {"y": null}}})",
       {"devices.order[0]", "plugins.a.options.x", "plugins.a.priority", "plugins.a.b.priority", "plugins.b.priority",
        "trust"}},
      {R"("plugins": {"a": {"options": null}})",
       {"devices.order[0]", "plugins.a.priority", "plugins.a.b.priority", "plugins.b.priority", "trust"}},
      {R"("plugins": {"a": null})", {"devices.order[0]", "plugins.a.b.priority", "plugins.b.priority", "trust"}},
      {R"("plugins": null)", {"devices.order[0]", "trust"}},
      {R"("devices": null, "plugins": null, "trust": null)", {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.members);
    write("etc", "2.json", one.members);
    Texts keys;
    for (const ConfigurationEntry& entry : load().entries) keys.push_back(entry.key);
    EXPECT_EQ(keys, one.left);
  }
}

TEST_F(ConfigurationTest, C27OptionsMergeAndTheirArraysAreOneValue) {
  write("etc", "1.json", R"("plugins": {"a": {"options": {"keep": 1, "list": [1, 2], "deep": {"a": 1, "b": 2}}}})");
  write("etc", "2.json",
        R"("plugins": {"a": {"options": {"list": [3], "deep": {"b": 5, "c": {"d": 6}}, "none": {}}}})");
  EXPECT_EQ(load().plugin("a").options.dump(-1),
            R"({"deep": {"a": 1, "b": 5, "c": {"d": 6}}, "keep": 1, "list": [3]})");
  // A value in the place of an object, and an object in the place of a value.
  write("etc", "3.json", R"("plugins": {"a": {"options": {"deep": 7, "keep": {"x": 8}}}})");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.plugin("a").options.dump(-1), R"({"deep": 7, "keep": {"x": 8}, "list": [3]})");
  EXPECT_EQ(configuration.entries.size(), 3u);
}

// ---- files

TEST_F(ConfigurationTest, C20FoldersOfTheSystemAndOfTheUser) {
  const auto folders = [this](bool secure = false) { return configuration_folders(world_.environment(secure)); };
  const Texts system = {"/usr/share/backplane/conf.d", "/etc/backplane/conf.d"};
  EXPECT_EQ(folders(), system);
  world_.set("HOME", "/home/me");
  EXPECT_EQ(folders(), (Texts{system[0], system[1], "/home/me/.config/backplane/conf.d"}));
  world_.set("XDG_CONFIG_HOME", "");
  EXPECT_EQ(folders(), (Texts{system[0], system[1], "/home/me/.config/backplane/conf.d"}));
  world_.set("XDG_CONFIG_HOME", "/cfg");
  EXPECT_EQ(folders(), (Texts{system[0], system[1], "/cfg/backplane/conf.d"}));
  EXPECT_EQ(folders(true), system);
}

TEST_F(ConfigurationTest, C21SameNameReplacesTheWholeLowerFile) {
  const std::string usr = write("usr", "a.json", "\"trust\": \"strict\", \"probe_timeout_ms\": 500");
  const std::string etc = write("etc", "a.json", "\"probe_timeout_ms\": 600");
  const std::string user = write("user", "a.json", "\"probe\": \"off\"");
  const Configuration configuration = load();
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
  EXPECT_EQ(configuration.probe_timeout_ms, 10000u);
  EXPECT_EQ(configuration.probe, ProbePolicy::off);
  ASSERT_EQ(configuration.files.size(), 3u);
  EXPECT_EQ(configuration.files[0].path, usr);
  EXPECT_EQ(state_of(configuration, usr), State::replaced);
  EXPECT_EQ(by(configuration, usr), etc);
  EXPECT_EQ(by(configuration, etc), user);
  EXPECT_EQ(state_of(configuration, user), State::used);
  EXPECT_EQ(by(configuration, user), "");
}

TEST_F(ConfigurationTest, C22LinkToDevNullMasks) {
  const std::string usr = write("usr", "a.json", "\"trust\": \"strict\"");
  const std::string direct = link("/dev/null", "etc", "a.json");
  Configuration configuration = load();
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
  EXPECT_EQ(state_of(configuration, direct), State::masked);
  EXPECT_EQ(state_of(configuration, usr), State::replaced);
  EXPECT_EQ(by(configuration, usr), direct);
  EXPECT_EQ(codes(configuration), Codes{});

  // Through another link, and again a file above it.
  const std::string indirect = link(direct, "user", "b.json");
  const std::string above = write("user", "a.json", "\"probe\": \"always\"");
  configuration = load();
  EXPECT_EQ(state_of(configuration, indirect), State::masked);
  EXPECT_EQ(by(configuration, direct), above);
  EXPECT_EQ(configuration.probe, ProbePolicy::always);
}

TEST_F(ConfigurationTest, C22EmptyFileIsBrokenAndMasksNothingSilently) {
  world_.write(world_.folder("etc") / "a.json", "");
  EXPECT_EQ(codes(load()), Codes{"error config.syntax"});
}

TEST_F(ConfigurationTest, C28BrokenFileAppliesNothingAndUncoversNothing) {
  const struct {
    const char* text;
    const char* code;
    uint32_t line;
  } cases[] = {
      {"{\"file_format_version\": \"1.0\",\n\"trust\": \"strict\",}", "error config.syntax", 2},
      {"{\"file_format_version\": \"1.0\",\n\"trust\": \"strict\",\n\"trust\": \"strict\"}",
       "error config.duplicate-key", 3},
      {"{\"file_format_version\": \"1.0\",\n\"trust\": \"strict\", \"x-\": \"\xFF\"}", "error config.utf8", 2},
      {"{\"file_format_version\": \"3.0\",\n\"trust\": \"strict\"}", "error config.format-version", 1},
      {"{\n\"trust\": \"strict\"}", "error config.missing-key", 1},
      {"{\"file_format_version\": \"1.0\",\n\"trust\": \"strict\",\n\n\"probe\": 1}", "error config.type", 4},
      {"{\"file_format_version\": \"1.0\",\n\"trust\": \"strict\",\n\"probe\": \"on\"}", "error config.value", 3},
      {"{\"file_format_version\": \"1.0\",\n\"trust\": \"strict\",\n\"plugin\": {\"library_path\": \"a\"}}",
       "error config.unknown-key", 3},
  };
  const std::string usr = write("usr", "a.json", "\"probe_timeout_ms\": 500");
  write("usr", "b.json", "\"probe\": \"off\"");
  for (const auto& one : cases) {
    SCOPED_TRACE(one.text);
    const std::string path = world_.write(world_.folder("etc") / "a.json", one.text).string();
    const Configuration configuration = load();
    EXPECT_EQ(codes(configuration), Codes{one.code});
    EXPECT_EQ(configuration.notices[0].file, path);
    EXPECT_EQ(configuration.notices[0].line, one.line);
    EXPECT_GE(configuration.notices[0].column, 1u);
    EXPECT_EQ(configuration.notices[0].message.rfind(path + ":" + std::to_string(one.line) + ":", 0), 0u);
    EXPECT_EQ(state_of(configuration, path), State::broken);
    EXPECT_EQ(state_of(configuration, usr), State::replaced);
    EXPECT_EQ(configuration.trust, TrustPolicy::normal);
    EXPECT_EQ(configuration.probe_timeout_ms, 10000u);
    EXPECT_EQ(configuration.probe, ProbePolicy::off) << "the others apply";
  }
}

TEST_F(ConfigurationTest, C04LargeFileIsBroken) {
  const std::string path = write("etc", "a.json", "\"trust\": \"strict\"" + std::string(1 << 20, ' '));
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), Codes{"error config.too-large"});
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
  EXPECT_EQ(state_of(configuration, path), State::broken);
}

TEST_F(ConfigurationTest, C08UnknownKeyIsWarnedOfAndTheRestApplies) {
  const std::string path =
      write("etc", "a.json", "\"trust\": \"strict\",\n\"plugins\": {\"a\": {\"priority\": 3, \"enabeld\": false}}");
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), Codes{"warning config.unknown-key"});
  const Notice& notice = configuration.notices[0];
  EXPECT_NE(notice.message.find("'plugins.a.enabeld' (did you mean 'enabled'?)"), std::string::npos) << notice.message;
  EXPECT_EQ(notice.line, 3u);
  EXPECT_EQ(notice.file, path);
  EXPECT_EQ(configuration.trust, TrustPolicy::strict);
  EXPECT_EQ(configuration.plugin("a").priority, 3);
  EXPECT_FALSE(configuration.plugin("a").enabled.has_value());
  EXPECT_EQ(state_of(configuration, path), State::used);
}

TEST_F(ConfigurationTest, C09NewerMinorVersionNotesUnknownKeysOnly) {
  world_.write(world_.folder("etc") / "a.json",
               "{\"file_format_version\": \"1.4\", \"trust\": \"strict\", \"trusted\": 1}");
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), Codes{"info config.unknown-key"});
  EXPECT_EQ(configuration.trust, TrustPolicy::strict);
}

TEST_F(ConfigurationTest, C19ManifestIsNamedAsSuch) {
  world_.write(world_.folder("etc") / "a.json", manifest_text("org.test.a", "a.so"));
  const Configuration configuration = load();
  ASSERT_EQ(codes(configuration), Codes{"error config.unknown-key"});
  EXPECT_NE(configuration.notices[0].message.find("a manifest, not a configuration file"), std::string::npos);
  EXPECT_NE(configuration.notices[0].message.find("plugins.d"), std::string::npos);
  // The slip of one letter is no manifest.
  write("etc", "a.json", "\"plugin\": {\"org.test.a\": {\"enabled\": false}}");
  ASSERT_EQ(codes(load()), Codes{"warning config.unknown-key"});
  EXPECT_NE(load().notices[0].message.find("did you mean 'plugins'"), std::string::npos);
}

TEST_F(ConfigurationTest, C29WhatIsNoFileIsNeverWaitedFor) {
  const std::string pipe = (world_.folder("etc") / "a.json").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  world_.folder("etc/b.json");
  link("/dev/zero", "etc", "c.json");
  write("etc", "d.json", "\"trust\": \"strict\"");
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), (Codes(3, "error config.not-regular")));
  EXPECT_NE(configuration.notices[0].message.find("a named pipe"), std::string::npos);
  EXPECT_EQ(state_of(configuration, pipe), State::broken);
  EXPECT_EQ(configuration.trust, TrustPolicy::strict);
  world_.set("BACKPLANE_CONFIG", pipe);
  EXPECT_EQ(codes(load()), (Codes(4, "error config.not-regular")));
}

TEST_F(ConfigurationTest, C30LinksThatLeadNowhereAreUnreadable) {
  const std::string loop = link("a.json", "etc", "a.json");
  const std::string dangling = link("gone.json", "etc", "b.json");
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), (Codes(2, "error config.unreadable")));
  EXPECT_EQ(configuration.notices[0].file, loop);
  EXPECT_EQ(configuration.notices[1].file, dangling);
}

TEST_F(ConfigurationTest, C30FolderThatCannotBeListedIsAWarning) {
  folders_ = {world_.write(world_.root() / "file", "").string(), link("loop", ".", "loop"), folders_[1]};
  write("etc", "a.json", "\"trust\": \"strict\"");
  const Configuration configuration = load();
  EXPECT_EQ(codes(configuration), (Codes(2, "warning config.unreadable")));
  EXPECT_EQ(configuration.notices[0].file, folders_[0]);
  EXPECT_EQ(configuration.trust, TrustPolicy::strict);
}

// Root may read everything, so a test that runs as root becomes somebody else for a moment.
class OtherUser {
 public:
  OtherUser() : was_root_(geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~OtherUser() {
    if (was_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }

 private:
  bool was_root_;
};

TEST_F(ConfigurationTest, C30FolderAndFileWithoutPermission) {
  const std::string file = write("etc", "a.json", "\"trust\": \"strict\"");
  write("user", "b.json", "\"probe\": \"off\"");
  fs::permissions(world_.root(), fs::perms(0755));
  fs::permissions(file, fs::perms::none);
  fs::permissions(world_.root() / "user", fs::perms::none);
  Configuration configuration;
  {
    const OtherUser other;
    configuration = load();
  }
  fs::permissions(world_.root() / "user", fs::perms(0700));
  EXPECT_EQ(codes(configuration), (Codes{"warning config.unreadable", "error config.unreadable"}));
  EXPECT_EQ(configuration.notices[0].file, folders_[2]);
  EXPECT_EQ(configuration.notices[1].file, file);
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
}

TEST_F(ConfigurationTest, C31NamedFileThatIsMissingIsAnError) {
  world_.set("BACKPLANE_CONFIG", (world_.root() / "gone.json").string());
  const Configuration configuration = load();
  ASSERT_EQ(codes(configuration), Codes{"error config.missing"});
  EXPECT_NE(configuration.notices[0].message.find("BACKPLANE_CONFIG"), std::string::npos);
  EXPECT_EQ(configuration.files.at(0).state, State::broken);
  world_.set("BACKPLANE_CONFIG", "/dev/null");
  EXPECT_EQ(codes(load()), Codes{});
  world_.set("BACKPLANE_CONFIG", world_.root().string());
  EXPECT_EQ(codes(load()), Codes{"error config.not-regular"});
}

TEST_F(ConfigurationTest, C32NothingIsRelativeToTheWorkingFolder) {
  const fs::path before = fs::current_path();
  write("here", "a.json", "\"trust\": \"strict\"");
  write("here/backplane/conf.d", "a.json", "\"trust\": \"strict\"");
  fs::current_path(world_.root() / "here");
  world_.set("BACKPLANE_CONFIG", "a.json");
  folders_ = {"backplane/conf.d"};
  const Configuration configuration = load();
  world_.set("BACKPLANE_CONFIG", "");
  world_.set("XDG_CONFIG_HOME", ".");
  const Configuration user = load_configuration(world_.environment());
  fs::current_path(before);
  EXPECT_EQ(codes(configuration), (Codes{"warning config.relative", "error config.relative"}));
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
  EXPECT_TRUE(configuration.files.empty());
  ASSERT_FALSE(user.notices.empty());
  EXPECT_EQ(user.notices.back().code, "config.relative");
  EXPECT_EQ(configuration_folders(world_.environment()).size(), 2u);
}

TEST_F(ConfigurationTest, C33OneFileUnderTwoNamesCountsOnce) {
  const std::string file = write("etc", "a.json", "\"plugin_dirs\": [\"/opt/a\"]");
  const std::string second = link(file, "user", "b.json");
  Configuration configuration = load();
  EXPECT_EQ(configuration.plugin_folders, Texts{"/opt/a"});
  EXPECT_EQ(by(configuration, file), second);
  world_.set("BACKPLANE_CONFIG", file);
  configuration = load();
  EXPECT_EQ(configuration.plugin_folders, Texts{"/opt/a"});
  EXPECT_EQ(state_of(configuration, second), State::replaced);
  EXPECT_EQ(configuration.find("plugin_dirs[0]")->file, file);
  // A folder that is listed twice.
  world_.set("BACKPLANE_CONFIG", "");
  folders_.push_back(folders_[1] + "/");
  EXPECT_EQ(load().plugin_folders, Texts{"/opt/a"});
}

TEST_F(ConfigurationTest, C34ProbeVariableHasTheLastWord) {
  const std::string path = write("etc", "a.json", "\"probe\": \"always\"");
  world_.set("BACKPLANE_CONFIG", path);
  world_.set("BACKPLANE_PROBE", "off");
  Configuration configuration = load();
  EXPECT_EQ(configuration.probe, ProbePolicy::off);
  ASSERT_NE(configuration.find("probe"), nullptr);
  EXPECT_EQ(configuration.find("probe")->file, "env:BACKPLANE_PROBE");
  EXPECT_EQ(configuration.find("probe")->line, 0u);
  EXPECT_EQ(configuration.find("probe")->value.as_text(), "off");

  world_.set("BACKPLANE_PROBE", "alway");
  configuration = load();
  ASSERT_EQ(codes(configuration), Codes{"error env.value"});
  const std::string& message = configuration.notices[0].message;
  EXPECT_NE(message.find("off, cached or always (did you mean 'always'?)"), std::string::npos) << message;
  EXPECT_EQ(configuration.find("probe")->file, path);
}

TEST_F(ConfigurationTest, C35SafeModeReadsNothing) {
  const std::string path = write("etc", "a.json", "\"trust\": \"strict\"");
  world_.write(world_.folder("etc") / "b.json", "broken");
  world_.set("BACKPLANE_CONFIG", path);
  world_.set("BACKPLANE_SAFE_MODE", "1");
  world_.set("BACKPLANE_PROBE", "always");
  const Configuration configuration = load();
  EXPECT_TRUE(configuration.files.empty());
  EXPECT_EQ(codes(configuration), Codes{});
  EXPECT_EQ(configuration.trust, TrustPolicy::normal);
  EXPECT_EQ(configuration.probe, ProbePolicy::always);
  world_.set("BACKPLANE_SAFE_MODE", "0");
  EXPECT_EQ(load().trust, TrustPolicy::strict);
}

TEST_F(ConfigurationTest, C36RaisedPrivilegesHeedTheSystemOnly) {
  write("etc", "a.json", "\"probe_timeout_ms\": 500");
  write("user/backplane/conf.d", "b.json", "\"probe_timeout_ms\": 600");
  const std::string named = write("elsewhere", "c.json", "\"probe_timeout_ms\": 700");
  world_.set("XDG_CONFIG_HOME", (world_.root() / "user").string());
  world_.set("HOME", (world_.root() / "user").string());
  world_.set("BACKPLANE_CONFIG", named);
  world_.set("BACKPLANE_PROBE", "off");
  // The folders as the environment gives them, with this world's for the system's.
  const auto load_as = [this](bool secure) {
    const Environment environment = world_.environment(secure);
    std::vector<std::string> folders = configuration_folders(environment);
    folders[0] = folders_[0];
    folders[1] = folders_[1];
    return load_configuration(environment, folders);
  };
  EXPECT_EQ(load_as(false).probe_timeout_ms, 700u);
  const Configuration secure = load_as(true);
  EXPECT_EQ(secure.probe_timeout_ms, 500u);
  EXPECT_EQ(secure.probe, ProbePolicy::cached);
  EXPECT_EQ(secure.files.size(), 1u);
}

TEST_F(ConfigurationTest, C37EveryValueInForceHasItsPlace) {
  const std::string low =
      write("usr", "1.json", "\"plugins\": {\n  \"b\": {\"priority\": 5,\n    \"options\": {\"x\": 1}}}");
  const std::string high =
      write("etc", "2.json", "  \"trust\":   \"strict\",\n\"devices\": {\"order\": [\"p\",\n \"q\"]}");
  const Configuration configuration = load();
  const struct {
    const char *key, *value;
    const std::string& file;
    uint32_t line, column;
  } expected[] = {{"devices.order[0]", "\"p\"", high, 3, 23},
                  {"devices.order[1]", "\"q\"", high, 4, 2},
                  {"plugins.b.options.x", "1", low, 4, 22},
                  {"plugins.b.priority", "5", low, 3, 21},
                  {"trust", "\"strict\"", high, 2, 14}};
  ASSERT_EQ(configuration.entries.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    const ConfigurationEntry& entry = configuration.entries[i];
    EXPECT_EQ(entry.key, expected[i].key);
    EXPECT_EQ(entry.value.dump(-1), expected[i].value) << entry.key;
    EXPECT_EQ(entry.file, expected[i].file) << entry.key;
    EXPECT_EQ(entry.line, expected[i].line) << entry.key;
    EXPECT_EQ(entry.column, expected[i].column) << entry.key;
  }
}

TEST_F(ConfigurationTest, C38OnlyVisibleJsonFilesAreRead) {
  for (const char* name : {".a.json", "a.json~", "a.json.bak", "a.JSON", "ajson", ".json"})
    world_.write(world_.folder("etc") / name, "broken");
  write("etc/inside", "a.json", "\"trust\": \"strict\"");
  const Configuration configuration = load();
  EXPECT_TRUE(configuration.files.empty());
  EXPECT_EQ(codes(configuration), Codes{});
}

TEST_F(ConfigurationTest, MessagesAreOneLineWhateverTheNames) {
  write("etc", "a\nb.json", "\"x\\ny\": 1, \"trust\": \"a\\u001b[0mb\"");
  const Configuration configuration = load();
  ASSERT_EQ(codes(configuration), Codes{"error config.value"});
  for (const Notice& notice : configuration.notices)
    EXPECT_TRUE(std::none_of(notice.message.begin(), notice.message.end(), [](char c) { return c >= 0 && c < ' '; }));
}

TEST_F(ConfigurationTest, TheSameFilesGiveTheSameConfiguration) {
  for (const char* name : {"c.json", "a.json", "b.json", "Z.json"}) {
    write("usr", name, "\"plugin_dirs\": [\"/opt/" + std::string(name) + "\"], \"unknown\": 1");
    write("user", "u" + std::string(name), "\"devices\": {\"order\": [\"" + std::string(name) + "\"]}");
  }
  const Configuration first = load();
  EXPECT_EQ(first.plugin_folders, (Texts{"/opt/Z.json", "/opt/a.json", "/opt/b.json", "/opt/c.json"}));
  const Configuration second = load();
  ASSERT_EQ(first.entries.size(), second.entries.size());
  for (size_t i = 0; i < first.entries.size(); ++i) {
    EXPECT_EQ(first.entries[i].key, second.entries[i].key);
    EXPECT_EQ(first.entries[i].file, second.entries[i].file);
  }
  ASSERT_EQ(first.files.size(), 8u);
  for (size_t i = 0; i < first.files.size(); ++i) EXPECT_EQ(first.files[i].path, second.files[i].path);
  ASSERT_EQ(first.notices.size(), 4u);
  for (size_t i = 0; i < first.notices.size(); ++i) EXPECT_EQ(first.notices[i].message, second.notices[i].message);
}

}  // namespace
}  // namespace backplane
