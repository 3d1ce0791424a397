#include "node_set.hpp"

#include <gtest/gtest.h>

#include "backplane/sdk/error.hpp"

namespace backplane_cpu_hbm::testing {
namespace {

TEST(NodeSet, ReadsNumbersAndRanges) {
  EXPECT_EQ(parse_nodes("0", "x"), (NodeSet{0}));
  EXPECT_EQ(parse_nodes("4,0,2-3", "x"), (NodeSet{0, 2, 3, 4}));
  EXPECT_EQ(parse_nodes("1,1-2,2", "x"), (NodeSet{1, 2}));
  EXPECT_EQ(parse_nodes("1023", "x"), (NodeSet{1023}));
}

TEST(NodeSet, RefusesEverythingElseAndNamesWhereItCameFrom) {
  for (const char* text : {"", ",", "0,", "a", "-1", "1-", "3-2", "0 1", " 0", "0x1", "1024", "+0", "all",
                           "0-9999999999", "18446744073709551616"}) {
    try {
      parse_nodes(text, "the variable");
      ADD_FAILURE() << "'" << text << "' was read";
    } catch (const backplane::sdk::Error& error) {
      EXPECT_EQ(error.code(), BP_E_INVALID_ARG);
      EXPECT_NE(std::string(error.what()).find(std::string("the variable is '") + text + "'"), std::string::npos)
          << error.what();
    }
  }
}

TEST(NodeSet, WritesWhatItReads) {
  EXPECT_EQ(nodes_text({}), "");
  for (const char* text : {"0", "0-1", "0,2", "0-2,5,7-8", "1023"}) EXPECT_EQ(nodes_text(parse_nodes(text, "x")), text);
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
