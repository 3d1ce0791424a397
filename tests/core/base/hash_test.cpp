#include "backplane/base/hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace backplane {
namespace {

TEST(Hash, MatchesPublishedXxh64Vectors) {
  EXPECT_EQ(hash_text(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(hash_text("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(hash_text("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(hash_text("Call me Ishmael. Some years ago--never mind how long precisely-"), 0x02A2E85470D6FD96u);
}

TEST(Hash, EveryLengthAndEveryByteCounts) {
  std::set<uint64_t> seen;
  std::string text(100, 'x');
  for (size_t length = 0; length <= text.size(); ++length) seen.insert(hash_text({text.data(), length}));
  for (size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = 'y';
    seen.insert(hash_text(changed));
  }
  EXPECT_EQ(seen.size(), 201u);
}

TEST(Hash, SeedAndOrderCount) {
  EXPECT_NE(hash_text("abc", 0), hash_text("abc", 1));
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
  EXPECT_NE(hash_combine(0, 0), 0u);
}

}  // namespace
}  // namespace backplane
