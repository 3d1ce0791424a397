#include "registry/elf/library_cache.hpp"

#include <gtest/gtest.h>

#include "cache_image.hpp"
#include "memory_file.hpp"

namespace backplane {
namespace {

class LibraryCacheTest : public ::testing::Test {
 protected:
  static std::vector<std::string> find(const std::string& image, const std::string& name) {
    const LibraryCache cache = LibraryCache::read(MemoryFile(image).path());
    const auto paths = cache.find(name);
    return {paths.begin(), paths.end()};
  }
};

TEST_F(LibraryCacheTest, FindsPathsInOrder) {
  const std::string image = cache_image({{"liba.so.1", "/one/liba.so.1"}, {"libb.so", "/b"}, {"liba.so.1", "/two"}});
  EXPECT_EQ(find(image, "liba.so.1"), (std::vector<std::string>{"/one/liba.so.1", "/two"}));
  EXPECT_TRUE(find(image, "liba.so").empty());
}

TEST_F(LibraryCacheTest, PassesOverOtherMachinesAndRelativePaths) {
  CacheEntry foreign = {"liba.so", "/foreign"};
  foreign.flags = 0x0003;
  const std::string image = cache_image({foreign, {"liba.so", "relative"}, {"liba.so", "/here"}});
  EXPECT_EQ(find(image, "liba.so"), std::vector<std::string>{"/here"});
}

TEST_F(LibraryCacheTest, ReadsTheNewerTableBehindTheOlder) {
  std::string old = "ld.so-1.7.0";
  old.resize(16 + 12, '\0');
  old[12] = 1;
  old.resize(32, '\0');
  EXPECT_EQ(find(old + cache_image({{"liba.so", "/a"}}), "liba.so"), std::vector<std::string>{"/a"});
}

TEST_F(LibraryCacheTest, IsEmptyIfThereIsNone) {
  EXPECT_TRUE(LibraryCache::read("/nonexistent/cache").find("libc.so.6").empty());
  EXPECT_TRUE(find("not a cache", "libc.so.6").empty());
  EXPECT_TRUE(find("", "libc.so.6").empty());
}

TEST_F(LibraryCacheTest, SurvivesTruncationAndEveryWrongByte) {
  const std::string good = cache_image({{"liba.so", "/a"}, {"libb.so", "/b"}});
  for (size_t length = 0; length < good.size(); ++length) find(good.substr(0, length), "libb.so");
  for (size_t at = 0; at < good.size(); ++at) {
    std::string image = good;
    image[at] = static_cast<char>(image[at] ^ 0xFF);
    find(image, "libb.so");
  }
  EXPECT_EQ(find(good, "libb.so"), std::vector<std::string>{"/b"});
}

TEST(LibraryCache, UnderstandsTheSystemsOwn) {
  const LibraryCache cache = LibraryCache::read("/etc/ld.so.cache");
  if (cache.find("libc.so.6").empty()) GTEST_SKIP() << "this system has no cache of glibc";
  EXPECT_TRUE(cache.find("libc.so.6")[0].ends_with("/libc.so.6"));
}

}  // namespace
}  // namespace backplane
