#include "backplane/registry/configuration.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "configuration_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using State = ConfigurationFile::State;

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

TEST_F(ConfigurationTest, LongKeysAndLongListsAreReadAndMessagesStayShort) {
  const std::string long_key(500000, 'k');
  write("etc", "a.json", "\"" + long_key + "\": 1, \"devices\": {\"order\": [\"" + long_key + "\"]}");
  std::string options, items;
  for (int i = 0; i < 20000; ++i) options += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  for (int i = 0; i < 50000; ++i) items += i ? ",\"d\"" : "\"d\"";
  write("etc", "b.json", "\"plugins\": {\"a\": {\"options\": {\"n\": {" + options + "}}}}");
  write("etc", "c.json", "\"devices\": {\"order\": [" + items + "]}");
  const Configuration configuration = load();
  ASSERT_EQ(codes(configuration), Codes{"warning config.unknown-key"});
  EXPECT_LT(configuration.notices[0].message.size(), 1000u);
  EXPECT_EQ(configuration.plugin("a").options.find("n")->members().size(), 20000u);
  EXPECT_EQ(configuration.device_order.size(), 50001u);
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
  // Lowest folder first, bytewise in each.
  Texts paths;
  for (const ConfigurationFile& file : first.files) paths.push_back(file.path.substr(world_.root().string().size()));
  EXPECT_EQ(paths, (Texts{"/usr/Z.json", "/usr/a.json", "/usr/b.json", "/usr/c.json", "/user/uZ.json", "/user/ua.json",
                          "/user/ub.json", "/user/uc.json"}));
  ASSERT_EQ(first.notices.size(), 4u);
  for (size_t i = 0; i < first.notices.size(); ++i) EXPECT_EQ(first.notices[i].message, second.notices[i].message);
}

}  // namespace
}  // namespace backplane
