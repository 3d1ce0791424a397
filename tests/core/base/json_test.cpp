#include "backplane/base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "backplane/base/text.hpp"

namespace backplane {
namespace {

Json parsed(std::string_view text) {
  Result<Json> json = parse_json(text, "f.json");
  EXPECT_TRUE(json.ok()) << json.status().to_string();
  return json.ok() ? *json : Json();
}

TEST(Json, ReadsEveryKind) {
  const Json json = parsed(R"({"n":null,"b":true,"i":-7,"f":1.5,"t":"h\u00e9\n","a":[1,2],"o":{}})");
  EXPECT_TRUE(json.find("n")->is(Json::Kind::null));
  EXPECT_TRUE(json.find("b")->as_boolean());
  EXPECT_EQ(json.find("i")->as_integer(), -7);
  EXPECT_EQ(json.find("i")->as_number(), -7.0);
  EXPECT_EQ(json.find("f")->as_number(), 1.5);
  EXPECT_EQ(json.find("t")->as_text(), "h\xC3\xA9\n");
  EXPECT_EQ(json.find("a")->items().size(), 2u);
  EXPECT_TRUE(json.find("o")->members().empty());
  EXPECT_EQ(json.find("missing"), nullptr);
  EXPECT_EQ(json.members()[0].first, "n");
  EXPECT_EQ(json.kind_name(), "object");
}

TEST(Json, IntegersKeepAllTheirBits) {
  EXPECT_EQ(parsed("9223372036854775807").as_integer(), INT64_MAX);
  EXPECT_EQ(parsed("-9223372036854775808").as_integer(), INT64_MIN);
  EXPECT_TRUE(parsed("9223372036854775808").is(Json::Kind::number));
  EXPECT_TRUE(parsed("1.0").is(Json::Kind::number));
}

TEST(Json, KnowsWhereEveryValueStands) {
  const Json json = parsed("{\n  \"a\": [1, 22,[3]],\n  \"b\": {\"c\" :\ttrue}, \"d\":\"x\"\n}");
  const auto at = [](const Json& value) { return std::pair(value.line(), value.column()); };
  using Where = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(at(json), Where(1, 1));
  const Json& a = *json.find("a");
  EXPECT_EQ(at(a), Where(2, 8));
  EXPECT_EQ(at(a.items()[0]), Where(2, 9));
  EXPECT_EQ(at(a.items()[1]), Where(2, 12));
  EXPECT_EQ(at(a.items()[2]), Where(2, 15));
  EXPECT_EQ(at(a.items()[2].items()[0]), Where(2, 16));
  EXPECT_EQ(at(*json.find("b")->find("c")), Where(3, 15));
  EXPECT_EQ(at(*json.find("d")), Where(3, 26));
}

struct Bad {
  const char* name;
  std::string text;
  const char* id;
  uint32_t line, column;
};

class JsonRejects : public ::testing::TestWithParam<Bad> {};

TEST_P(JsonRejects, WithIdAndPlace) {
  JsonFault fault;
  const Result<Json> json = parse_json(GetParam().text, "f.json", {200, 4}, &fault);
  ASSERT_FALSE(json.ok());
  EXPECT_EQ(json.status().code(), Code::invalid_argument);
  EXPECT_EQ(json.status().id(), GetParam().id) << json.status().message();
  EXPECT_EQ(fault.line, GetParam().line) << json.status().message();
  EXPECT_EQ(fault.column, GetParam().column) << json.status().message();
  const std::string prefix =
      "f.json:" + std::to_string(GetParam().line) + ":" + std::to_string(GetParam().column) + ": ";
  EXPECT_EQ(json.status().message().rfind(prefix, 0), 0u) << json.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, JsonRejects,
    ::testing::Values(
        Bad{"empty", "", "json.syntax", 1, 1}, Bad{"space", " \n", "json.syntax", 1, 2},
        Bad{"comment", "{ // x\n}", "json.syntax", 1, 3}, Bad{"comma", "[1,\n]", "json.syntax", 2, 1},
        Bad{"trailing", "{} x", "json.syntax", 1, 4}, Bad{"two", "{}{}", "json.syntax", 1, 3},
        Bad{"single", "{'a':1}", "json.syntax", 1, 2}, Bad{"open", "[1", "json.syntax", 1, 2},
        Bad{"nan", "[NaN]", "json.syntax", 1, 2}, Bad{"zero", "[01]", "json.syntax", 1, 4},
        Bad{"unexpected", "[1,\n {\"a\" \"long text\"}]", "json.syntax", 2, 7},
        Bad{"huge", "[1e999]", "json.syntax", 1, 7}, Bad{"surrogate", R"(["\ud800"])", "json.syntax", 1, 9},
        Bad{"control", "[\"a\nb\"]", "json.syntax", 1, 4}, Bad{"nul", std::string("{}\0x", 4), "json.syntax", 1, 3},
        Bad{"utf16", std::string("\xFF\xFE{\0}\0", 6), "json.utf8", 1, 1},
        Bad{"bom_twice", "\xEF\xBB\xBF\xEF\xBB\xBF{}", "json.syntax", 1, 1},
        Bad{"duplicate", "{\"a\":1,\n \"a\":2}", "json.duplicate-key", 2, 2},
        Bad{"duplicate_escaped", R"({"a":1,"\u0061":2})", "json.duplicate-key", 1, 8},
        Bad{"utf8", "[\"\xFF\"]", "json.utf8", 1, 3}, Bad{"overlong", "[\"\xC0\xAF\"]", "json.utf8", 1, 3},
        Bad{"cut", "[\"\xE2\x82", "json.utf8", 1, 3}, Bad{"encoded_surrogate", "[\"\xED\xA0\x80\"]", "json.utf8", 1, 3},
        Bad{"deep", "[[[[[1]]]]]", "json.too-deep", 1, 5}, Bad{"large", std::string(201, ' '), "json.too-large", 1, 1}),
    [](const auto& bad) { return bad.param.name; });

// Found by fuzzing: the parser quotes all of a token, up to the first byte of a character.
TEST(Json, MessagesAreShortAndWhole) {
  const std::string filler(5000, 'x');
  for (const std::string& text :
       {std::string("{\"trust\"\xC2\x85}"), "{\"" + filler + "\" \xE2\x82\xAC}", "[\"" + filler,
        "{\"" + filler + "\":1,\"" + filler + "\":2}", "[1" + std::string(5000, '0') + "]"}) {
    const std::string message = parse_json(text, "f").status().message();
    EXPECT_FALSE(message.empty());
    EXPECT_LT(message.size(), 400u);
    EXPECT_EQ(printable(message), message);
  }
}

TEST(Json, SameKeyInDifferentObjectsIsFine) { EXPECT_EQ(parsed(R"({"a":{"a":1},"b":{"a":2}})").members().size(), 2u); }

TEST(Json, DepthAtTheCapIsFine) { EXPECT_TRUE(parse_json("[[[[1]]]]", "f", {200, 4}).ok()); }

TEST(Json, ManyMembersAreFast) {
  std::string text = "{";
  for (int i = 0; i < 60000; ++i) text += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
  EXPECT_EQ(parsed(text + "}").members().size(), 60000u);
}

TEST(Json, WritesWhatItReads) {
  const std::string text = R"({"a": [1, 2.0, 1e+300, "q\"\\\n\u0001"], "b": {"c": null}, "d": [], "e": {}})";
  const Json json = parsed(text);
  const std::string line = json.dump(-1);
  EXPECT_EQ(line, text);
  EXPECT_EQ(parsed(json.dump(2)).dump(-1), line);
  EXPECT_EQ(parsed("{\"a\":[1]}").dump(2), "{\n  \"a\": [\n    1\n  ]\n}");
}

TEST(Json, NumbersThatJsonCannotSayBecomeNull) {
  EXPECT_EQ(Json::number(std::nan("")).dump(), "null");
  EXPECT_EQ(Json::number(INFINITY).dump(), "null");
}

TEST(Json, SetReplacesAndPushAppends) {
  Json json = Json::object();
  json.set("k", Json::integer(1));
  json.set("k", Json::text("two"));
  Json list = Json::array();
  list.push(Json::boolean(false));
  json.set("l", list);
  EXPECT_EQ(json.dump(-1), R"({"k": "two", "l": [false]})");
}

}  // namespace
}  // namespace backplane
