#include "registry/scan/plugin_filter.hpp"

#include <gtest/gtest.h>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

const Configuration kNoConfiguration;

std::string verdict(PluginFilter& filter, const std::string& id, const std::string& file) {
  const Status status = filter.check(id, file);
  return status.ok() ? "ok" : status.id();
}

TEST(PluginFilter, LetsEverythingInByDefault) {
  PluginWorld world;
  PluginFilter none, unset(world.environment(), kNoConfiguration);
  EXPECT_EQ(verdict(none, "a", "a.json"), "ok");
  EXPECT_EQ(verdict(unset, "a", "a.json"), "ok");
  world.set("BACKPLANE_PLUGINS_SELECT", "");
  PluginFilter empty(world.environment(), kNoConfiguration);
  EXPECT_EQ(verdict(empty, "a", "a.json"), "ok");
  EXPECT_TRUE(empty.notices().empty());
}

TEST(PluginFilter, MatchesIdOrFileName) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGINS_SELECT", " org.*.cpu , gpu?.json,");
  PluginFilter filter(world.environment(), kNoConfiguration);
  EXPECT_EQ(verdict(filter, "org.x.cpu", "f.json"), "ok");
  EXPECT_EQ(verdict(filter, "com.y", "gpu1.json"), "ok");
  EXPECT_EQ(verdict(filter, "com.y", "other.json"), "filter.not-selected");
}

TEST(PluginFilter, DenialWins) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGINS_SELECT", "org.*");
  world.set("BACKPLANE_PLUGINS_DISABLE", "*.bad");
  PluginFilter filter(world.environment(), kNoConfiguration);
  EXPECT_EQ(verdict(filter, "org.bad", "f.json"), "filter.disabled");
  EXPECT_EQ(verdict(filter, "org.good", "f.json"), "ok");
}

TEST(PluginFilter, TheConfigurationSwitchesOffAndSaysWhere) {
  Configuration configuration;
  configuration.plugins["org.off"].enabled = false;
  configuration.plugins["org.on"].enabled = true;
  configuration.entries.push_back({"plugins.org.off.enabled", Json::boolean(false), "/etc/x.json", 3, 5});
  PluginFilter filter(Environment(), configuration);
  EXPECT_EQ(verdict(filter, "org.on", "f.json"), "ok");
  EXPECT_EQ(verdict(filter, "org.off", "f.json"), "filter.disabled");
  EXPECT_NE(filter.check("org.off", "f.json").message().find("/etc/x.json:3"), std::string::npos);
}

TEST(PluginFilter, PatternsThatMatchNothingAreNoted) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGINS_SELECT", "org.*,org.good");
  world.set("BACKPLANE_PLUGINS_DISABLE", "com.typo");
  PluginFilter filter(world.environment(), kNoConfiguration);
  EXPECT_EQ(verdict(filter, "org.good", "f.json"), "ok");
  const auto notices = filter.notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "filter.no-match");
  EXPECT_NE(notices[0].message.find("'com.typo' in BACKPLANE_PLUGINS_DISABLE"), std::string::npos);
}

}  // namespace
}  // namespace backplane
