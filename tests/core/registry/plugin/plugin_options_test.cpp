#include "registry/plugin/plugin_options.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace backplane {
namespace {

Json parsed(std::string_view text) { return parse_json(text, "test").value(); }

TEST(PluginOptions, FlattensAndTypes) {
  const Json defaults = parsed(R"({"t":"x","i":4,"f":0.5,"b":true,"l":[1,2],"n":{"a":{"b":7}}})");
  const PluginOptions options = PluginOptions::merge(defaults, Json::object()).value();
  const auto& list = options.list();
  ASSERT_EQ(list.size(), 6u);
  EXPECT_STREQ(list[0].key, "b");
  EXPECT_EQ(list[0].type, BP_OPTION_BOOL);
  EXPECT_EQ(list[0].i, 1);
  EXPECT_EQ(list[1].type, BP_OPTION_F64);
  EXPECT_EQ(list[1].f, 0.5);
  EXPECT_EQ(list[2].type, BP_OPTION_I64);
  EXPECT_EQ(list[2].i, 4);
  EXPECT_EQ(list[3].type, BP_OPTION_JSON);
  EXPECT_STREQ(list[3].text, "[1, 2]");
  EXPECT_STREQ(list[4].key, "n.a.b");
  EXPECT_EQ(list[4].i, 7);
  EXPECT_EQ(list[5].type, BP_OPTION_TEXT);
  EXPECT_STREQ(list[5].text, "x");
  EXPECT_EQ(list[5].text_len, 1u);
}

TEST(PluginOptions, OverridesReplaceAddAndReset) {
  const Json defaults = parsed(R"({"a":1,"b":2,"f":1.5,"n":{"x":1,"y":2}})");
  const Json overrides = parsed(R"({"a":10,"b":null,"f":2,"n":{"y":20}})");
  const PluginOptions options = PluginOptions::merge(defaults, overrides).value();
  std::map<std::string, bp_option> by_key;
  for (const bp_option& option : options.list()) by_key[option.key] = option;
  EXPECT_EQ(by_key.at("a").i, 10);
  EXPECT_EQ(by_key.at("b").i, 2);
  EXPECT_EQ(by_key.at("f").type, BP_OPTION_F64);
  EXPECT_EQ(by_key.at("f").f, 2.0);
  EXPECT_EQ(by_key.at("n.x").i, 1);
  EXPECT_EQ(by_key.at("n.y").i, 20);
}

TEST(PluginOptions, UnknownKeysAreFaultsOnlyOfWhatDeclaresItsOptions) {
  std::string fault;
  const auto options = PluginOptions::merge(parsed(R"({"streams":1})"), parsed(R"({"steams":2})"), &fault);
  EXPECT_EQ(options.status().id(), "options.unknown-key");
  EXPECT_NE(options.status().message().find("did you mean 'streams'"), std::string::npos);
  EXPECT_EQ(fault, "steams");
  const PluginOptions passed_on = PluginOptions::merge(Json::object(), parsed(R"({"new":"z"})")).value();
  EXPECT_STREQ(passed_on.list()[0].text, "z");
}

TEST(PluginOptions, RefusesAnotherType) {
  for (const char* overrides : {R"({"a":"1"})", R"({"a":1.5})", R"({"a":true})"}) {
    const auto options = PluginOptions::merge(parsed(R"({"a":1})"), parsed(overrides));
    EXPECT_EQ(options.status().id(), "options.type") << overrides;
  }
}

}  // namespace
}  // namespace backplane
