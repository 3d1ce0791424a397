#include "backplane/sdk/error.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace backplane::sdk {
namespace {

struct Record {
  explicit Record(uint32_t cap) {
    error.size = sizeof error;
    error.message = text;
    error.message_cap = cap;
  }
  char text[64] = {};
  bp_error error{};
};

TEST(Guard, ReturnsOkAndLeavesTheRecordAlone) {
  Record record(64);
  EXPECT_EQ(guard(&record.error, [] {}), BP_OK);
  EXPECT_EQ(guard(&record.error, []() -> bp_code { return BP_NOT_READY; }), BP_NOT_READY);
  EXPECT_EQ(record.error.message_len, 0u);
  EXPECT_EQ(record.error.code, BP_OK);
}

TEST(Guard, TurnsEveryExceptionIntoACode) {
  Record record(64);
  EXPECT_EQ(guard(&record.error, [] { throw Error(BP_E_DATA, "index 7", 42); }), BP_E_DATA);
  EXPECT_EQ(record.error.code, BP_E_DATA);
  EXPECT_EQ(record.error.native_code, 42);
  EXPECT_STREQ(record.text, "index 7");
  EXPECT_EQ(guard(&record.error, [] { throw std::bad_alloc(); }), BP_E_HOST_MEMORY);
  EXPECT_EQ(guard(&record.error, [] { throw std::runtime_error("boom"); }), BP_E_INTERNAL);
  EXPECT_STREQ(record.text, "boom");
  EXPECT_EQ(record.error.native_code, 0) << "nothing of an earlier error is left";
  EXPECT_EQ(guard(&record.error, [] { throw 7; }), BP_E_INTERNAL);
}

TEST(Guard, NeedsNoRecord) {
  EXPECT_EQ(guard(nullptr, [] { throw Error(BP_E_BUSY, "later"); }), BP_E_BUSY);
  Record record(0);
  record.error.message = nullptr;
  EXPECT_EQ(guard(&record.error, [] { throw Error(BP_E_BUSY, "later"); }), BP_E_BUSY);
  EXPECT_EQ(record.error.message_len, 5u) << "the length is told even where there is no room";
}

TEST(SetError, LeavesARecordOfUnknownSizeAlone) {
  Record record(64);
  record.error.size = sizeof(bp_error) - 1;
  EXPECT_EQ(set_error(&record.error, BP_E_BUSY, "x"), BP_E_BUSY);
  EXPECT_EQ(record.error.code, BP_OK);
  EXPECT_STREQ(record.text, "");
}

// a is 1 byte, e-acute 2, euro 3, a clef 4: every capacity must cut between characters and end with a NUL.
TEST(SetError, CutsTheTextBetweenCharacters) {
  const std::string text =
      "a\xC3\xA9\xE2\x82\xAC\xF0\x9D\x84\x9E"
      "b";
  const size_t expected_bytes[] = {0, 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (uint32_t cap = 1; cap <= 12; ++cap) {
    Record record(cap);
    std::memset(record.text, '#', sizeof record.text);
    set_error(&record.error, BP_E_UNKNOWN, text);
    EXPECT_EQ(std::string(record.text), text.substr(0, expected_bytes[cap])) << "cap " << cap;
    EXPECT_EQ(record.error.message_len, text.size());
    EXPECT_EQ(record.text[cap], '#') << "wrote beyond its room";
  }
}

}  // namespace
}  // namespace backplane::sdk
