#include "registry/probe/probe_cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "fixtures/plugin_world.hpp"
#include "registry/probe/probe_protocol.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using End = ProbeVerdict::End;

ProbeVerdict ended(End end, LoadStage stage, int number = 0, const std::string& code = {}) {
  ProbeVerdict verdict;
  verdict.end = end;
  verdict.stage = stage;
  verdict.number = number;
  verdict.code = code;
  return verdict;
}

class ProbeCacheTest : public ::testing::Test {
 protected:
  ProbeCacheTest() {
    request_.library_path = world_.write(world_.root() / "plugin.so", "the content of a library");
    request_.plugin_id = "org.test.x";
    request_.host_name = "test";
  }
  std::optional<ProbeVerdict> find(uint64_t dependencies = 7) { return find_in(folder_, dependencies); }
  std::optional<ProbeVerdict> find_in(const std::string& folder, uint64_t dependencies = 7) {
    return ProbeCache(folder).find(request_, RegularFile::open(request_.library_path).value(), dependencies);
  }
  void store(const ProbeVerdict& verdict) { store_in(folder_, verdict); }
  void store_in(const std::string& folder, const ProbeVerdict& verdict) {
    ProbeCache(folder).store(request_, RegularFile::open(request_.library_path).value(), 7, verdict);
  }
  // The one file that the folder holds.
  fs::path record() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
    EXPECT_EQ(files.size(), 1u);
    return files.at(0);
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  PluginWorld world_;
  std::string folder_ = world_.root() / "cache" / "backplane" / "probe";
  ProbeRequest request_;
  const ProbeVerdict crashed_ = ended(End::crashed, LoadStage::open, 11);
};

// Sets both times of the file to the same moment long ago, as packages of some systems do.
void backdate(const std::string& path) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST_F(ProbeCacheTest, FindsWhatWasStored) {
  EXPECT_FALSE(find());
  store(crashed_);
  const auto found = find();
  ASSERT_TRUE(found);
  EXPECT_EQ(to_json_text(*found), to_json_text(crashed_));
  struct stat info = {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(record().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ProbeCacheTest, KeepsTheLastVerdictOfALibrary) {
  store(crashed_);
  store(ended(End::passed, LoadStage::active));
  EXPECT_EQ(find()->end, End::passed);
  record();
}

TEST_F(ProbeCacheTest, KeepsNothingOfWhatWasRefused) {
  store(crashed_);
  store(ended(End::refused, LoadStage::open, 0, "open.failed"));
  EXPECT_FALSE(find());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(ProbeCacheTest, ContentDecidesNotItsTimes) {
  backdate(request_.library_path);
  store(crashed_);
  world_.write(request_.library_path, "THE CONTENT OF A LIBRARY");  // of the same length, in the same file
  backdate(request_.library_path);
  EXPECT_FALSE(find());
  world_.write(request_.library_path, "the content of a library");
  EXPECT_TRUE(find());
}

TEST_F(ProbeCacheTest, TheSameContentInAnotherFileIsKnown) {
  store(crashed_);
  fs::rename(request_.library_path, request_.library_path + ".old");
  fs::copy_file(request_.library_path + ".old", request_.library_path);
  EXPECT_TRUE(find());
}

// A file that has not changed for a while is known by its version: find writes that down once, then changes nothing.
TEST_F(ProbeCacheTest, AVersionIsTrustedOnlyWhenTheFileIsOldEnough) {
  store(crashed_);
  EXPECT_EQ(parse_json(read(record()), "record")->find("version")->as_text(), "");
  EXPECT_TRUE(find());
  EXPECT_EQ(parse_json(read(record()), "record")->find("version")->as_text(), "");

  request_.library_path = fs::canonical("/bin/sh");
  fs::remove_all(folder_);
  store(crashed_);
  Json json = parse_json(read(record()), "record").value();
  EXPECT_NE(json.find("version")->as_text(), "");
  json.set("sha256", Json::text("never looked at"));
  world_.write(record(), json.dump());
  EXPECT_TRUE(find());
  json.set("version", Json::text("1:2:3"));
  world_.write(record(), json.dump());
  EXPECT_FALSE(find());
}

TEST_F(ProbeCacheTest, EverythingThatWasAskedForCounts) {
  store(crashed_);
  EXPECT_FALSE(find(8)) << "dependencies";
  const ProbeRequest before = request_;
  request_.options = Json::object({{"n", Json::integer(1)}});
  EXPECT_FALSE(find());
  request_ = before;
  request_.entry_point = "other";
  EXPECT_FALSE(find());
  request_ = before;
  EXPECT_TRUE(find());
}

TEST_F(ProbeCacheTest, DamagedRecordsAreAsIfTheyWereNotThere) {
  store(crashed_);
  const std::string good = read(record());
  for (size_t length = 0; length < good.size(); length += 3) {
    world_.write(record(), good.substr(0, length));
    EXPECT_FALSE(find()) << length;
  }
  const std::pair<std::string, std::string> changes[] = {{"\"format\": 1", "\"format\": 2"},
                                                         {"\"crashed\"", "\"refused\""},
                                                         {"\"sha256\"", "\"sha512\""},
                                                         {"\"number\": 11", "\"number\": 1100"}};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    world_.write(record(), text);
    EXPECT_FALSE(find()) << to;
  }
  world_.write(record(), std::string(8 << 20, ' '));
  EXPECT_FALSE(find());
  world_.write(record(), good);
  EXPECT_TRUE(find());
  store(crashed_);
  EXPECT_TRUE(find());
}

TEST_F(ProbeCacheTest, RecordsThatOthersCanWriteAreNotBelieved) {
  store(crashed_);
  const fs::path path = record();
  ASSERT_EQ(::chmod(path.c_str(), 0622), 0);
  EXPECT_FALSE(find());
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(find());
  fs::rename(path, world_.root() / "elsewhere");
  fs::create_symlink(world_.root() / "elsewhere", path);
  EXPECT_FALSE(find());
  store(crashed_);  // replaces the link, not what it leads to
  EXPECT_FALSE(fs::is_symlink(path));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(find());
}

TEST_F(ProbeCacheTest, FoldersThatCannotBeUsedAreNoTrouble) {
  EXPECT_FALSE(find_in(""));
  store_in("", crashed_);
  const std::string file = world_.write(world_.root() / "file", "x");
  for (const std::string& folder : {file, file + "/below", std::string("/proc/backplane"), std::string("/dev/null")}) {
    store_in(folder, crashed_);
    EXPECT_FALSE(find_in(folder)) << folder;
  }
  EXPECT_EQ(read(file), "x");
  const std::string closed = world_.folder("closed");
  ASSERT_EQ(::chmod(world_.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0555), 0);
  const auto somebody = [&] {
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(2);  // nothing is read-only for root
    store_in(closed, crashed_);
    store_in(closed + "/below", crashed_);
    ::_exit(find_in(closed) || !fs::is_empty(closed) ? 1 : 0);
  };
  EXPECT_EXIT(somebody(), ::testing::ExitedWithCode(0), "");
}

// Threads and processes write at the same time; whoever reads sees one whole record.
TEST_F(ProbeCacheTest, WritersDoNotDisturbEachOther) {
  const auto write_many = [this](int number) {
    for (int i = 0; i < 50; ++i) store(ended(End::crashed, LoadStage::open, number));
  };
  store(ended(End::crashed, LoadStage::open, 1));
  const pid_t other = ::fork();
  if (other == 0) {
    write_many(2);
    ::_exit(0);
  }
  std::thread first(write_many, 3), second(write_many, 4);
  for (int i = 0; i < 100; ++i) {
    const auto found = find();
    ASSERT_TRUE(found) << i;
    EXPECT_TRUE(found->number >= 1 && found->number <= 4);
  }
  first.join();
  second.join();
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  record();
}

}  // namespace
}  // namespace backplane
