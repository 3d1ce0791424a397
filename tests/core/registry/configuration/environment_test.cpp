#include "backplane/registry/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace backplane {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

Variables all_variables() {
  Variables variables;
  for (const EnvironmentVariable& variable : environment_variables()) variables.emplace(variable.name, "x");
  return variables;
}

TEST(Environment, EveryVariableIsHeededWithoutPrivileges) {
  const Environment environment(all_variables());
  for (const EnvironmentVariable& variable : environment_variables())
    EXPECT_EQ(environment.get(variable.name), "x") << variable.name;
  EXPECT_EQ(environment.get("BACKPLANE_NONE"), std::nullopt);
  for (const Notice& notice : environment.notices()) EXPECT_EQ(notice.code, "env.value") << notice.message;
}

TEST(Environment, SafeModeIsOnOrOff) {
  EXPECT_TRUE(Environment(Variables{{"BACKPLANE_SAFE_MODE", "1"}}).notices().empty());
  EXPECT_TRUE(Environment(Variables{{"BACKPLANE_SAFE_MODE", "0"}}).notices().empty());
  const auto notices = Environment(Variables{{"BACKPLANE_SAFE_MODE", "yes"}}).notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "env.value");
}

// The table is the rule: whatever is added to it is covered here.
TEST(Environment, APrivilegedProcessHeedsOnlyWhatTheTableAllows) {
  const Environment environment(all_variables(), true);
  std::string ignored;
  for (const EnvironmentVariable& variable : environment_variables()) {
    EXPECT_EQ(environment.get(variable.name).has_value(), !variable.ignored_when_secure) << variable.name;
    EXPECT_FALSE(variable.meaning.empty());
    if (variable.ignored_when_secure) ignored += std::string(variable.name) + " ";
  }
  for (const char* path : {"BACKPLANE_PLUGIN_PATH", "BACKPLANE_ADD_PLUGIN_PATH", "BACKPLANE_CONFIG", "XDG_DATA_HOME",
                           "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME", "LD_LIBRARY_PATH"})
    EXPECT_NE(ignored.find(path), std::string::npos) << path;
}

TEST(Environment, WhatNobodyKnowsIsIgnoredWithPrivileges) {
  const Environment environment(Variables{{"ANYTHING", "x"}}, true);
  EXPECT_EQ(environment.get("ANYTHING"), std::nullopt);
}

TEST(Environment, OneNoticeNamesAllThatIsIgnored) {
  const Environment environment(Variables{{"BACKPLANE_DEVICES", "x"}, {"BACKPLANE_CONFIG", "/x"}, {"HOME", "/h"}},
                                true);
  const auto notices = environment.notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "env.ignored");
  EXPECT_NE(notices[0].message.find("BACKPLANE_DEVICES, BACKPLANE_CONFIG"), std::string::npos) << notices[0].message;
}

TEST(Environment, SlipsAreNoticed) {
  const auto notices = Environment(Variables{{"BACKPLANE_PLUGIN_PATHS", "x"}, {"OTHER", "y"}}).notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].code, "env.unknown");
  EXPECT_NE(notices[0].message.find("did you mean 'BACKPLANE_PLUGIN_PATH'"), std::string::npos) << notices[0].message;
}

TEST(Environment, CopiesThatOfTheProcess) {
  ::setenv("BACKPLANE_LOG", "off", 1);
  const Environment environment = Environment::process();
  ::unsetenv("BACKPLANE_LOG");
  EXPECT_EQ(environment.get("BACKPLANE_LOG"), "off");
  EXPECT_FALSE(environment.secure());
}

// The documentation is made from the table: BACKPLANE_UPDATE_DOCS=1 writes it anew.
TEST(Environment, TheDocumentationIsTheTable) {
  const std::string path = std::string(BACKPLANE_SPECS) + "/environment.md", heading = "| variable |";
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const size_t begin = text.find(heading);
  ASSERT_NE(begin, std::string::npos) << path;
  std::string table = heading + " meaning | with raised privileges |\n|---|---|---|\n";
  for (const EnvironmentVariable& variable : environment_variables())
    table += "| `" + std::string(variable.name) + "` | " + std::string(variable.meaning) + " | " +
             (variable.ignored_when_secure ? "ignored" : "heeded") + " |\n";
  if (::getenv("BACKPLANE_UPDATE_DOCS") != nullptr) std::ofstream(path) << text.substr(0, begin) << table;
  EXPECT_EQ(text.substr(begin), table);
}

}  // namespace
}  // namespace backplane
