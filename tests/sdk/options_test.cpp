#include "backplane/sdk/options.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace backplane::sdk {
namespace {

bp_option option(const char* key, uint32_t type) {
  bp_option o{};
  o.key = key;
  o.type = type;
  return o;
}

std::vector<bp_option> sample() {
  std::vector<bp_option> list = {option("threads", BP_OPTION_I64), option("scale", BP_OPTION_F64),
                                 option("pin", BP_OPTION_BOOL), option("mode", BP_OPTION_TEXT)};
  list[0].i = 8;
  list[1].f = 0.5;
  list[2].i = 1;
  list[3].text = "bind";
  list[3].text_len = 4;
  return list;
}

OptionReader reader_of(const std::vector<bp_option>& list) {
  return {list.data(), static_cast<uint32_t>(list.size()), sizeof(bp_option)};
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), BP_E_INVALID_ARG);
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(OptionReader, ReadsEveryTypeAndFinishes) {
  const auto list = sample();
  OptionReader reader = reader_of(list);
  EXPECT_EQ(reader.integer("threads", 1, 0, 64), 8);
  EXPECT_EQ(reader.number("scale", 1.0), 0.5);
  EXPECT_TRUE(reader.boolean("pin", false));
  EXPECT_EQ(reader.text("mode", "none"), "bind");
  EXPECT_NO_THROW(reader.finish());
}

TEST(OptionReader, FallsBackWhereAnOptionIsAbsent) {
  OptionReader reader(nullptr, 0, 0);
  EXPECT_EQ(reader.integer("threads", 3, 0, 64), 3);
  EXPECT_EQ(reader.number("scale", 1.5), 1.5);
  EXPECT_TRUE(reader.boolean("pin", true));
  EXPECT_EQ(reader.text("mode", "none"), "none");
  EXPECT_NO_THROW(reader.finish());
}

TEST(OptionReader, TakesAnIntegerForANumber) {
  const auto list = sample();
  OptionReader reader = reader_of(list);
  EXPECT_EQ(reader.number("threads", 0), 8.0);
}

TEST(OptionReader, NamesTheKeyAndTheRangeOfAValueOutOfRange) {
  const auto list = sample();
  OptionReader reader = reader_of(list);
  const std::string text = message_of([&] { reader.integer("threads", 1, 0, 4); });
  for (const char* part : {"threads", "0 to 4", "found 8"}) EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(OptionReader, RefusesWrongTypes) {
  const auto list = sample();
  OptionReader reader = reader_of(list);
  EXPECT_NE(message_of([&] { reader.integer("mode", 1, 0, 4); }).find("an integer"), std::string::npos);
  EXPECT_NE(message_of([&] { reader.number("mode", 1); }).find("a number"), std::string::npos);
  EXPECT_NE(message_of([&] { reader.boolean("threads", true); }).find("true or false"), std::string::npos);
  EXPECT_NE(message_of([&] { reader.text("pin", ""); }).find("a string"), std::string::npos);
}

TEST(OptionReader, RefusesKeysThatNobodyAskedFor) {
  const auto list = sample();
  OptionReader reader = reader_of(list);
  reader.integer("threads", 1, 0, 64);
  EXPECT_NE(message_of([&] { reader.finish(); }).find("scale"), std::string::npos);
}

// R7: records of a later version are longer.
TEST(OptionReader, WalksByTheStride) {
  constexpr uint32_t kStride = sizeof(bp_option) + 24;
  const auto list = sample();
  std::vector<std::byte> bytes(kStride * list.size(), std::byte{0xEE});
  for (size_t i = 0; i < list.size(); ++i) std::memcpy(bytes.data() + i * kStride, &list[i], sizeof(bp_option));
  OptionReader reader(bytes.data(), static_cast<uint32_t>(list.size()), kStride);
  EXPECT_EQ(reader.text("mode", "none"), "bind");
  EXPECT_EQ(reader.integer("threads", 1, 0, 64), 8);
}

TEST(OptionReader, RefusesAnArrayThatItCannotRead) {
  const auto list = sample();
  EXPECT_THROW(OptionReader(nullptr, 1, sizeof(bp_option)), Error);
  EXPECT_THROW(OptionReader(list.data(), 1, sizeof(bp_option) - 8), Error);
}

}  // namespace
}  // namespace backplane::sdk
