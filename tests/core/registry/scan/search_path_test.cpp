#include "backplane/registry/search_path.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

std::vector<std::string> sources(const std::vector<SearchEntry>& entries) {
  std::vector<std::string> names;
  for (const SearchEntry& entry : entries) names.push_back(entry.source);
  return names;
}

TEST(SearchPath, StandsInTheDocumentedOrder) {
  PluginWorld world;
  world.set("BACKPLANE_ADD_PLUGIN_PATH", "/add1::/add2:");
  world.set("XDG_CONFIG_HOME", "/config");
  world.set("HOME", "/home/x");
  world.set("XDG_DATA_DIRS", "/d1:/d2");
  const auto entries = search_path({{"/api"}, true, world.environment(), {}});
  EXPECT_EQ(sources(entries),
            (std::vector<std::string>{"api", "env:BACKPLANE_ADD_PLUGIN_PATH", "env:BACKPLANE_ADD_PLUGIN_PATH",
                                      "env:XDG_CONFIG_HOME", "env:XDG_DATA_HOME", "beside-core", "etc",
                                      "env:XDG_DATA_DIRS", "env:XDG_DATA_DIRS", "libdir"}));
  EXPECT_EQ(entries[0].path, "/api");
  EXPECT_TRUE(entries[0].requested);
  EXPECT_EQ(entries[2].path, "/add2");
  EXPECT_TRUE(entries[2].requested);
  EXPECT_EQ(entries[3].path, "/config/backplane/plugins.d");
  EXPECT_FALSE(entries[3].requested);
  EXPECT_EQ(entries[4].path, "/home/x/.local/share/backplane/plugins.d");
  EXPECT_EQ(entries[6].path, "/etc/backplane/plugins.d");
  EXPECT_EQ(entries[7].path, "/d1/backplane/plugins.d");
}

TEST(SearchPath, PluginPathReplacesAllThatFollows) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGIN_PATH", "/only");
  world.set("BACKPLANE_ADD_PLUGIN_PATH", "/add");
  const auto entries = search_path({{"/api"}, true, world.environment(), {}});
  EXPECT_EQ(sources(entries), (std::vector<std::string>{"api", "env:BACKPLANE_PLUGIN_PATH"}));
  world.set("BACKPLANE_PLUGIN_PATH", "");
  EXPECT_EQ(search_path({{}, true, world.environment(), {}}).size(), 0u);
}

TEST(SearchPath, ConfiguredFoldersComeBeforeTheUsersOwn) {
  PluginWorld world;
  world.set("BACKPLANE_ADD_PLUGIN_PATH", "/add");
  world.set("XDG_CONFIG_HOME", "/config");
  const auto entries = search_path({{}, true, world.environment(), {"/opt/a", "/opt/b"}});
  EXPECT_EQ(entries[1].source, "config");
  EXPECT_EQ(entries[2].path, "/opt/b");
  EXPECT_TRUE(entries[2].requested);
  EXPECT_EQ(entries[3].source, "env:XDG_CONFIG_HOME");
}

TEST(SearchPath, SafeModeLeavesTheApplicationsOwnAndWhatLiesBesideTheCore) {
  PluginWorld world;
  world.set("BACKPLANE_SAFE_MODE", "1");
  world.set("BACKPLANE_PLUGIN_PATH", "/only");
  EXPECT_EQ(sources(search_path({{"/api"}, true, world.environment(), {"/opt"}})),
            (std::vector<std::string>{"api", "beside-core"}));
  world.set("BACKPLANE_SAFE_MODE", "0");
  EXPECT_EQ(sources(search_path({{}, true, world.environment(), {}})),
            (std::vector<std::string>{"env:BACKPLANE_PLUGIN_PATH"}));
}

TEST(SearchPath, APrivilegedProcessIsNotLedByItsCaller) {
  PluginWorld world;
  for (const char* name : {"BACKPLANE_PLUGIN_PATH", "BACKPLANE_ADD_PLUGIN_PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
                           "XDG_DATA_DIRS", "HOME"})
    world.set(name, "/planted");
  for (const SearchEntry& entry : search_path({{}, true, world.environment(true), {}}))
    EXPECT_EQ(entry.path.find("planted"), std::string::npos) << entry.source;
}

TEST(SearchPath, WithoutTheSystemOnlyTheApiCounts) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGIN_PATH", "/only");
  EXPECT_EQ(sources(search_path({{"/api"}, false, world.environment(), {}})), (std::vector<std::string>{"api"}));
}

TEST(SearchPath, NoHomeNoHomeFolders) {
  PluginWorld world;
  for (const SearchEntry& entry : search_path({{}, true, world.environment(), {}})) {
    EXPECT_NE(entry.source, "env:XDG_CONFIG_HOME");
    EXPECT_TRUE(std::filesystem::path(entry.path).is_absolute()) << entry.path;
  }
}

// As the XDG specification has it.
TEST(SearchPath, RelativeXdgFoldersAreAsIfTheyWereNotSet) {
  PluginWorld world;
  world.set("HOME", "/home/test");
  world.set("XDG_CONFIG_HOME", "relative");
  world.set("XDG_DATA_HOME", ".");
  std::string paths;
  for (const SearchEntry& entry : search_path({{}, true, world.environment(), {}})) paths += entry.path + "\n";
  EXPECT_NE(paths.find("/home/test/.config/backplane/plugins.d\n"), std::string::npos) << paths;
  EXPECT_NE(paths.find("/home/test/.local/share/backplane/plugins.d\n"), std::string::npos) << paths;
  EXPECT_EQ(paths.find("relative"), std::string::npos) << paths;
}

TEST(SearchPath, FindsTheCoreLibrary) {
  const std::filesystem::path core = core_library_path();
  EXPECT_TRUE(core.is_absolute());
  EXPECT_EQ(core.filename().string().rfind("libbackplane.so", 0), 0u) << core;
}

}  // namespace
}  // namespace backplane
