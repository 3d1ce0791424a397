#include "json_output.hpp"

#include <gtest/gtest.h>

namespace backplane::cli {
namespace {

TEST(TerminalJson, EscapesWhatTerminalsObey) {
  EXPECT_EQ(terminal_json("[\"a\x7f\xc2\x80\xc2\x9b\xc2\x9f\"]"), "[\"a\\u007f\\u0080\\u009b\\u009f\"]");
}

TEST(TerminalJson, LeavesTheRest) {
  const std::string text = "{\"a\": \"\xc2\xa0 \xc3\x9f \xe2\x82\xac \\u001b\", \"b\": 1}\xc2";
  EXPECT_EQ(terminal_json(text), text);
}

TEST(TerminalJson, MeansTheSame) {
  const Json json =
      Json::array({Json::text("\x1b[1m\x7f\xc2\x9b"
                              "1m")});
  const Result<Json> again = parse_json(terminal_json(json.dump()), "test");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->dump(), json.dump());
}

}  // namespace
}  // namespace backplane::cli
