#include "base/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

TEST(RegularFile, ReadsWithinItsBounds) {
  PluginWorld world;
  const Result<RegularFile> file = RegularFile::open(world.write(world.root() / "f", "hello"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes(), 5u);
  EXPECT_EQ(file->read_text(5).value(), "hello");
  EXPECT_EQ(file->read_text(4).status().id(), "file.too-large");
  std::byte bytes[3];
  EXPECT_TRUE(file->read(2, bytes).ok());
  EXPECT_EQ(static_cast<char>(bytes[2]), 'o');
  EXPECT_EQ(file->read(3, bytes).id(), "file.short");
  EXPECT_EQ(file->read(UINT64_MAX, bytes).id(), "file.short");
}

TEST(RegularFile, RefusesWhatIsNotPlainWithoutWaiting) {
  PluginWorld world;
  const std::string pipe = world.root() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(RegularFile::open(pipe).status().id(), "file.not-regular");
  EXPECT_EQ(RegularFile::open("/dev/zero").status().id(), "file.not-regular");
  EXPECT_EQ(RegularFile::open(world.root()).status().id(), "file.not-regular");
  int error = 0;
  EXPECT_EQ(RegularFile::open(world.root() / "missing", &error).status().id(), "file.missing");
  EXPECT_EQ(error, ENOENT);
}

TEST(RegularFile, IdentityIsThatOfTheFileNotOfTheName) {
  PluginWorld world;
  world.write(world.root() / "a", "x");
  world.write(world.root() / "b", "x");
  std::filesystem::create_symlink("a", world.root() / "link");
  const auto identity = [&](const char* name) { return RegularFile::open(world.root() / name).value().identity(); };
  EXPECT_EQ(identity("a"), identity("link"));
  EXPECT_NE(identity("a"), identity("b"));
}

}  // namespace
}  // namespace backplane
