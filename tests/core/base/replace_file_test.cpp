#include "base/replace_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/regular_file.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

std::string text_of(const std::string& path) { return RegularFile::open(path)->read_text(100).value(); }

TEST(ReplaceFile, MakesFoldersAndIsThisUsersAlone) {
  PluginWorld world;
  const std::string path = world.root() / "a/b/file";
  ASSERT_TRUE(replace_file(path, "one").ok());
  EXPECT_EQ(text_of(path), "one");
  ASSERT_TRUE(replace_file(path, "another").ok());
  EXPECT_EQ(text_of(path), "another");
  struct stat info = {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(world.root() / "a/b"), {}), 1);  // no draft is left
}

TEST(ReplaceFile, WhoeverHasTheOldOneOpenKeepsIt) {
  PluginWorld world;
  const std::string path = world.write(world.root() / "file", "old");
  const Result<RegularFile> old = RegularFile::open(path);
  ASSERT_TRUE(replace_file(path, "new").ok());
  EXPECT_EQ(old->read_text(100).value(), "old");
  EXPECT_EQ(text_of(path), "new");
}

TEST(ReplaceFile, AFailureLeavesWhatWasThere) {
  PluginWorld world;
  const std::string folder = world.root() / "folder";
  std::filesystem::create_directories(folder + "/full");
  const Status status = replace_file(folder, "text");
  EXPECT_EQ(status.id(), "file.write");
  EXPECT_NE(status.message().find(folder), std::string::npos) << status.message();
  EXPECT_TRUE(std::filesystem::exists(folder + "/full"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(world.root()), {}), 1);
  EXPECT_EQ(replace_file("/dev/null/x", "").id(), "file.write");
}

}  // namespace
}  // namespace backplane
