#include "registry/scan/trust.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

class TrustTest : public ::testing::Test {
 protected:
  TrustTest() : folder_(world_.folder("plugins")), file_(world_.write(folder_ / "x.so", "x")) {}
  std::string verdict() const {
    const Status status = check_trust(file_);
    return status.ok() ? "ok" : status.id();
  }
  PluginWorld world_;
  std::filesystem::path folder_, file_;
};

TEST_F(TrustTest, OwnFilesInAStickyFolderAreFine) {
  EXPECT_EQ(verdict(), "ok");
  ASSERT_EQ(chmod(file_.c_str(), 0400), 0);  // no right to execute is needed
  EXPECT_EQ(verdict(), "ok");
  ASSERT_EQ(chmod(folder_.c_str(), 01777), 0);
  EXPECT_EQ(verdict(), "ok");
}

TEST_F(TrustTest, WhatOthersMayWriteIsNot) {
  ASSERT_EQ(chmod(file_.c_str(), 0602), 0);
  EXPECT_EQ(verdict(), "trust.writable");
  ASSERT_EQ(chmod(file_.c_str(), 0620), 0);
  EXPECT_EQ(verdict(), "trust.writable");
  ASSERT_EQ(chmod(file_.c_str(), 0600), 0);
  ASSERT_EQ(chmod(world_.root().c_str(), 0777), 0);  // a folder further up
  EXPECT_EQ(verdict(), "trust.writable");
  EXPECT_NE(check_trust(file_).message().find(world_.root().string()), std::string::npos);
}

TEST_F(TrustTest, StrangersFilesAreNot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(file_.c_str(), 4321, 0), 0);
  EXPECT_EQ(verdict(), "trust.owner");
}

TEST_F(TrustTest, WhatCannotBeExaminedIsNot) {
  std::filesystem::remove(file_);
  EXPECT_EQ(verdict(), "trust.unknown");
}

}  // namespace
}  // namespace backplane
