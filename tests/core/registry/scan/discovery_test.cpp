#include "registry/scan/discovery.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class Discovery : public ::testing::Test {
 protected:
  std::vector<Candidate> find(std::vector<fs::path> paths, bool requested = true) {
    std::vector<SearchEntry> entries;
    for (const fs::path& path : paths) entries.push_back({"test", path.string(), requested});
    return discover(entries);
  }
  static std::vector<std::string> names(const std::vector<Candidate>& found) {
    std::vector<std::string> names;
    for (const Candidate& candidate : found) names.push_back(fs::path(candidate.report.requested).filename());
    return names;
  }
  PluginWorld world_;
};

TEST_F(Discovery, ListsOneFolderSortedByBytes) {
  for (const char* name : {"b.json", "B.json", "a.so", "z.txt", ".hidden.json", "c.JSON", "d.so.1"})
    world_.write(world_.root() / name, "{}");
  world_.write(world_.folder("below") / "deep.json", "{}");
  fs::create_directory(world_.root() / "plain");
  const auto found = find({world_.root()});
  EXPECT_EQ(names(found), (std::vector<std::string>{"B.json", "a.so", "b.json", "c.JSON"}));
  EXPECT_EQ(found[0].kind, Candidate::Kind::manifest);
  EXPECT_EQ(found[1].kind, Candidate::Kind::library);
  EXPECT_EQ(found[2].text, "{}");
  EXPECT_FALSE(found[2].stopped);
  EXPECT_EQ(found[2].report.source, "test");
}

TEST_F(Discovery, NeverHangsOnSpecialFiles) {
  ASSERT_EQ(mkfifo((world_.root() / "pipe.json").c_str(), 0600), 0);
  fs::create_directory(world_.root() / "folder.json");
  fs::create_symlink("/dev/zero", world_.root() / "zero.json");
  fs::create_symlink("nowhere", world_.root() / "dangling.json");
  world_.write(world_.root() / "good.json", "{}");
  const auto found = find({world_.root()});
  ASSERT_EQ(names(found),
            (std::vector<std::string>{"dangling.json", "folder.json", "good.json", "pipe.json", "zero.json"}));
  EXPECT_EQ(found[0].report.code, "file.missing");
  EXPECT_EQ(found[0].report.system_error, ENOENT);
  EXPECT_EQ(found[1].report.code, "file.not-regular");
  EXPECT_FALSE(found[2].stopped);
  EXPECT_EQ(found[3].report.code, "file.not-regular");
  EXPECT_EQ(found[3].report.outcome, LoadOutcome::failed);
  EXPECT_EQ(found[4].report.code, "file.not-regular");
}

TEST_F(Discovery, SameFileIsFoundOnce) {
  world_.write(world_.root() / "a.json", "{}");
  fs::create_symlink("a.json", world_.root() / "b.json");
  const auto again = world_.root() / "." / "";
  fs::create_directory_symlink(world_.root(), world_.root() / "self");
  const auto found = find({world_.root(), world_.root(), again, world_.root() / "self"});
  ASSERT_EQ(names(found), (std::vector<std::string>{"a.json", "b.json"}));
  EXPECT_FALSE(found[0].stopped);
  EXPECT_EQ(found[1].report.code, "file.duplicate");
}

TEST_F(Discovery, AFolderThatIsNoneOfPluginsIsCutOff) {
  for (int i = 0; i < 4100; ++i) world_.write(world_.root() / (std::to_string(i) + ".json"), "");
  const auto found = find({world_.root()});
  EXPECT_EQ(found.size(), 4097u);
  EXPECT_EQ(found[0].report.code, "path.too-many");
}

TEST_F(Discovery, EarlierNameShadowsAndNullMasks) {
  const auto first = world_.folder("first"), second = world_.folder("second");
  world_.write(first / "x.json", "{}");
  fs::create_symlink("/dev/null", first / "y.json");
  world_.write(second / "x.json", "{ }");
  world_.write(second / "y.json", "{ }");
  const auto found = find({first, second});
  ASSERT_EQ(found.size(), 4u);
  EXPECT_FALSE(found[0].stopped);
  EXPECT_EQ(found[1].report.code, "file.masked");
  EXPECT_EQ(found[2].report.code, "file.shadowed");
  EXPECT_EQ(found[2].report.outcome, LoadOutcome::skipped);
  EXPECT_EQ(found[3].report.code, "file.shadowed");
}

TEST_F(Discovery, RequestedPlacesMustExist) {
  EXPECT_TRUE(find({world_.root() / "missing"}, false).empty());
  const auto found = find({world_.root() / "missing", "relative/folder"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].report.code, "path.missing");
  EXPECT_EQ(found[0].report.system_error, ENOENT);
  EXPECT_EQ(found[1].report.code, "path.relative");
}

// Root may read everything; everybody else gets a report, and the search goes on.
TEST_F(Discovery, WhatMayNotBeReadIsReported) {
  const auto closed = world_.folder("closed"), open = world_.folder("open");
  world_.write(closed / "a.json", "{}");
  world_.write(open / "b.json", "{}");
  world_.write(open / "c.json", "{}");
  fs::create_symlink(closed / "a.json", open / "d.json");
  fs::permissions(open / "b.json", fs::perms::none);
  fs::permissions(closed, fs::perms::none);
  const auto found = find({open, closed});
  fs::permissions(closed, fs::perms::owner_all);
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(names(found), (std::vector<std::string>{"b.json", "c.json", "d.json", root ? "a.json" : "closed"}));
  EXPECT_EQ(found[0].report.code, root ? "" : "file.open");
  EXPECT_EQ(found[1].report.code, "");
  EXPECT_EQ(found[2].report.code, root ? "" : "file.open");
  EXPECT_EQ(found[3].report.code, root ? "file.duplicate" : "path.unreadable");
}

TEST_F(Discovery, RequestedFilesAreTakenAsTheyAre) {
  const auto found = find({world_.write(world_.root() / "one.json", "{}")});
  EXPECT_EQ(names(found), (std::vector<std::string>{"one.json"}));
}

TEST_F(Discovery, HugeManifestsAreNotRead) {
  world_.write(world_.root() / "big.json", std::string(kManifestMaxBytes + 1, ' '));
  EXPECT_EQ(find({world_.root()}).at(0).report.code, "file.too-large");
}

TEST_F(Discovery, FolderOfALinkedManifestIsTheRealOne) {
  world_.write(world_.folder("real") / "a.json", "{}");
  fs::create_symlink(world_.root() / "real" / "a.json", world_.folder("links") / "a.json");
  EXPECT_EQ(find({world_.root() / "links"}).at(0).folder, world_.root() / "real");
}

}  // namespace
}  // namespace backplane
