#include "bundle.hpp"

#include <gtest/gtest.h>

namespace backplane::cli {
namespace {

std::string redact(const std::string& document, std::vector<std::string> homes = {"/home/an"}) {
  const Result<Json> json = parse_json(document, "test");
  if (!json) return json.status().message();
  return redacted(*json, homes).dump(-1);
}

TEST(Redacted, HomeFoldersAreTildes) {
  EXPECT_EQ(redact(R"j(["/home/an/x", "at /home/an: '/home/an'", "/home/an"])j"), R"j(["~/x", "at ~: '~'", "~"])j");
  EXPECT_EQ(redact(R"j(["/home/an/x /data/an/y"])j", {"/home/an/", "/data/an"}), R"j(["~/x ~/y"])j");
}

TEST(Redacted, OnlyWholeNamesAreTheHomeFolder) {
  EXPECT_EQ(redact(R"j(["/home/anna/x", "/home/an.so", "/home/an-x"])j"),
            R"j(["/home/anna/x", "/home/an.so", "/home/an-x"])j");
  EXPECT_EQ(redact(R"j(["/etc/x"])j", {"/", ""}), R"j(["/etc/x"])j");
}

TEST(Redacted, SecretsGoByTheirKeys) {
  for (const char* key : {"token", "auth_Token", "client-secret", "PASSWORD", "api_key", "apiKey", "credentials"})
    EXPECT_EQ(redact("{\"" + std::string(key) + "\": {\"a\": [\"b\", 1]}}"),
              "{\"" + std::string(key) + "\": \"(redacted)\"}");
  EXPECT_EQ(redact(R"j({"threads": 4, "key": "name"})j"), R"j({"threads": 4, "key": "name"})j");
}

TEST(Redacted, AnEntryHasItsKeyBesideIt) {
  EXPECT_EQ(redact(R"j([{"key": "plugins.a.options.token", "value": "s3cret", "line": 3}])j"),
            R"j([{"key": "plugins.a.options.token", "value": "(redacted)", "line": 3}])j");
  EXPECT_EQ(redact(R"j([{"key": "plugins.a.options.size", "value": 7}])j"),
            R"j([{"key": "plugins.a.options.size", "value": 7}])j");
}

TEST(Redacted, ASecretIsTakenOutWhereverItStands) {
  EXPECT_EQ(redact(R"j({"token": "s3cret", "message": "option 's3cret' and s3cret", "output": "s3cre"})j"),
            R"j({"token": "(redacted)", "message": "option '(redacted)' and (redacted)", "output": "s3cre"})j");
  EXPECT_EQ(redact(R"j([{"token": "on"}, "on and on"])j"), R"j([{"token": "(redacted)"}, "on and on"])j");
}

TEST(Redacted, ASecretWithinAnotherLeavesNothingOfIt) {
  EXPECT_EQ(redact(R"j([{"token": "abcd"}, {"token": "abcd-efgh"}, "abcd-efgh"])j"),
            R"j([{"token": "(redacted)"}, {"token": "(redacted)"}, "(redacted)"])j");
}

}  // namespace
}  // namespace backplane::cli
