// What is in force after several files, seen through load_configuration: every cell of the precedence table.
#include "registry/configuration/effective_settings.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "configuration_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

using EffectiveSettingsTest = ConfigurationTest;

// Where a file lies; `folder` 3 = BACKPLANE_CONFIG.
struct Source {
  int folder;
  const char* name;
};

class EffectiveSettingsPrecedence : public ConfigurationTest {
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

TEST_F(EffectiveSettingsPrecedence, C23EveryPairOfPlacesAndNames) {
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

TEST_F(EffectiveSettingsTest, C24LaterScalarWinsForEveryKey) {
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

TEST_F(EffectiveSettingsTest, C26NullResetsEveryScalar) {
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

TEST_F(EffectiveSettingsTest, C25ArraysAppendWithTheOriginOfEachItem) {
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

TEST_F(EffectiveSettingsTest, C25ArraysOfMoreThanNineItemsKeepTheirOrder) {
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

TEST_F(EffectiveSettingsTest, C26NullResetsAllBelow) {
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

TEST_F(EffectiveSettingsTest, C27OptionsMergeAndTheirArraysAreOneValue) {
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

}  // namespace
}  // namespace backplane
