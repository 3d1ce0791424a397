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
