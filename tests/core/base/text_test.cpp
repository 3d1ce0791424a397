#include "backplane/base/text.hpp"

#include <gtest/gtest.h>

namespace backplane {
namespace {

TEST(Text, CatJoinsPieces) {
  EXPECT_EQ(cat("rank ", 3, " of ", std::string("x"), ' ', 1.5), "rank 3 of x 1.5");
  const std::vector<std::string> parts = {"a", "b"};
  EXPECT_EQ(join(parts, ", "), "a, b");
  const std::vector<int64_t> shape = {1, 3};
  EXPECT_EQ(shape_text(shape), "[1, 3]");
}

TEST(Text, BytesAreReadable) {
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(uint64_t{3} << 30), "3.0 GiB");
}

TEST(Text, CountsInSingularAndPlural) {
  EXPECT_EQ(counted(0, "copy", "copies"), "0 copies");
  EXPECT_EQ(counted(1, "copy", "copies"), "1 copy");
  EXPECT_EQ(counted(2, "copy", "copies"), "2 copies");
}

TEST(Text, PrintableTextIsOneLineWithoutControlCharacters) {
  EXPECT_EQ(printable("caf\u00e9 [1, 3]"), "caf\u00e9 [1, 3]");
  EXPECT_EQ(printable("\x1b[31m\n\t\x7f"), "\\x1b[31m\\x0a\\x09\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("a\xff\xc3"), "a\\xff\\xc3") << "not UTF-8";
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "a control character in two bytes";
}

TEST(Text, ShortenedTextKeepsWholeCharacters) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "abc...");
  EXPECT_EQ(shortened("ab\u00e9", 3), "ab...");
}

TEST(Text, SuggestsOnlyWhatIsClose) {
  const std::vector<std::string> words = {"library_path", "entry_point", "options"};
  EXPECT_EQ(did_you_mean("libary_path", words), " (did you mean 'library_path'?)");
  EXPECT_EQ(did_you_mean("Options", words), " (did you mean 'options'?)");
  EXPECT_EQ(did_you_mean("zebra", words), "");
}

TEST(Text, GlobsMatchWholeTexts) {
  EXPECT_TRUE(glob_match("org.*.cpu", "org.backplane.cpu"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a?c*", "abcdef"));
  EXPECT_TRUE(glob_match("*aab", "aaaab"));
  EXPECT_FALSE(glob_match("org.*", "com.x"));
  EXPECT_FALSE(glob_match("cpu", "cpu0"));
  EXPECT_FALSE(glob_match("", "x"));
}

}  // namespace
}  // namespace backplane
