#include "registry/plugin_filter.hpp"

#include <gtest/gtest.h>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

std::string verdict(const PluginFilter& filter, const std::string& id, const std::string& file) {
  const Status status = filter.check(id, file);
  return status.ok() ? "ok" : status.id();
}

TEST(PluginFilter, LetsEverythingInByDefault) {
  PluginWorld world;
  EXPECT_EQ(verdict(PluginFilter(), "a", "a.json"), "ok");
  EXPECT_EQ(verdict(PluginFilter(world.environment()), "a", "a.json"), "ok");
  world.set("BACKPLANE_PLUGINS_SELECT", "");
  EXPECT_EQ(verdict(PluginFilter(world.environment()), "a", "a.json"), "ok");
}

TEST(PluginFilter, MatchesIdOrFileName) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGINS_SELECT", " org.*.cpu , gpu?.json,");
  const PluginFilter filter(world.environment());
  EXPECT_EQ(verdict(filter, "org.x.cpu", "f.json"), "ok");
  EXPECT_EQ(verdict(filter, "com.y", "gpu1.json"), "ok");
  EXPECT_EQ(verdict(filter, "com.y", "other.json"), "filter.not-selected");
}

TEST(PluginFilter, DenialWins) {
  PluginWorld world;
  world.set("BACKPLANE_PLUGINS_SELECT", "org.*");
  world.set("BACKPLANE_PLUGINS_DISABLE", "*.bad");
  const PluginFilter filter(world.environment());
  EXPECT_EQ(verdict(filter, "org.bad", "f.json"), "filter.disabled");
  EXPECT_EQ(verdict(filter, "org.good", "f.json"), "ok");
}

}  // namespace
}  // namespace backplane
