#include "folder_watch.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

namespace backplane::cli {
namespace {

namespace fs = std::filesystem;

// What has changed before wait() is called is waiting there already, so no test depends on time.
class FolderWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "backplane-watch-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    Result<FolderWatch> watch = FolderWatch::open();
    ASSERT_TRUE(watch.ok()) << watch.status().message();
    watch_.emplace(std::move(*watch));
  }
  void TearDown() override {
    watch_.reset();
    fs::remove_all(root_);
  }
  void add(const fs::path& path) {
    const Status status = watch_->add({path.string()});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // Whether anything has happened; the signal ends the waiting if not.
  bool changed() {
    raise(SIGTERM);
    return watch_->wait();
  }

  fs::path root_;
  std::optional<FolderWatch> watch_;
};

TEST_F(FolderWatchTest, SeesNewFiles) {
  add(root_);
  std::ofstream(root_ / "a.json") << "{}";
  EXPECT_TRUE(watch_->wait());
}

TEST_F(FolderWatchTest, SeesFilesThatAreRenamedInto) {
  std::ofstream(root_ / "a") << "{}";
  fs::create_directory(root_ / "watched");
  add(root_ / "watched");
  fs::rename(root_ / "a", root_ / "watched/a");
  EXPECT_TRUE(watch_->wait());
}

TEST_F(FolderWatchTest, SeesTheComingOfAFolder) {
  add(root_ / "one/two");
  fs::create_directories(root_ / "one/two");
  EXPECT_TRUE(watch_->wait());
  add(root_ / "one/two");
  std::ofstream(root_ / "one/two/a") << "a";
  EXPECT_TRUE(watch_->wait());
}

TEST_F(FolderWatchTest, SeesTheReplacingOfAFile) {
  std::ofstream(root_ / "a") << "a";
  add(root_ / "a");
  std::ofstream(root_ / "b") << "b";
  fs::rename(root_ / "b", root_ / "a");
  EXPECT_TRUE(watch_->wait());
}

TEST_F(FolderWatchTest, ASignalEndsTheWaitingAndNotTheProcess) {
  add(root_);
  EXPECT_FALSE(changed());
  raise(SIGINT);
  EXPECT_FALSE(watch_->wait());
}

TEST_F(FolderWatchTest, ReadingIsNoChange) {
  std::ofstream(root_ / "a") << "a";
  add(root_);
  std::string word;
  std::ifstream(root_ / "a") >> word;
  EXPECT_EQ(word, "a");
  EXPECT_FALSE(changed());
}

}  // namespace
}  // namespace backplane::cli
