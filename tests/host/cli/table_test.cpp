#include "table.hpp"

#include <gtest/gtest.h>

namespace backplane::cli {
namespace {

TEST(Table, AlignsColumnsByCharacters) {
  Table table({"NAME", "BYTES", "TEXT"});
  table.align_right({1});
  table.add({"é", "7", "a"});
  table.add({"long-name", "1024", ""});
  EXPECT_EQ(table.to_string(),
            "NAME       BYTES  TEXT\n"
            "é              7  a\n"
            "long-name   1024\n");
  EXPECT_EQ(table.to_string(true).rfind("\x1b[1mNAME", 0), 0u);
}

TEST(Table, EachRowIsOneLineWhateverItHolds) {
  Table table({"A"});
  table.add({"x\n\x1b[31my\xff"});
  EXPECT_EQ(table.to_string(), "A\nx\\x0a\\x1b[31my\\xff\n");
}

TEST(Wrapped, BreaksAtSpacesAndNeverWithinAWord) {
  EXPECT_EQ(wrapped("one two three", 7, "  "), "  one two\n  three\n");
  EXPECT_EQ(wrapped("much-too-long a", 4, ""), "much-too-long\na\n");
  EXPECT_EQ(wrapped("éé éé", 5, ""), "éé éé\n");
  EXPECT_EQ(wrapped("", 5, ""), "");
}

}  // namespace
}  // namespace backplane::cli
