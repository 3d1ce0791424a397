#include "registry/elf/plugin_lint.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "elf_image.hpp"
#include "fixtures/plugin_world.hpp"
#include "memory_file.hpp"

namespace backplane {
namespace {

class PluginLintTest : public ::testing::Test {
 protected:
  PluginLintTest() {
    image_.symbols = {{BP_ENTRY_POINT}, {"imported", STB_GLOBAL, STT_FUNC, STV_DEFAULT, false}};
    image_.notes = {{"GNU", NT_GNU_BUILD_ID, "12345678"}};
  }
  Result<std::vector<Notice>> lint() { return lint_plugin(world_.write(world_.root() / "p.so", image_.bytes())); }
  std::vector<std::string> codes() {
    std::vector<std::string> codes;
    const Result<std::vector<Notice>> notices = lint();
    EXPECT_TRUE(notices.ok()) << notices.status().message();
    if (!notices) return codes;
    for (const Notice& notice : *notices) codes.push_back(notice.code);
    return codes;
  }
  using Codes = std::vector<std::string>;

  ElfImage image_;
  PluginWorld world_;
};

TEST_F(PluginLintTest, FindsNothingInAGoodOne) { EXPECT_EQ(codes(), Codes()); }

TEST_F(PluginLintTest, WantsTheEntryPointAsAFunction) {
  image_.symbols[0].defined = false;
  EXPECT_EQ(codes(), Codes{"lint.no-entry-point"});
  image_.symbols.clear();
  EXPECT_EQ(codes(), Codes{"lint.no-entry-point"});
  image_.symbols = {{BP_ENTRY_POINT, STB_GLOBAL, STT_FUNC, STV_HIDDEN}};
  EXPECT_EQ(codes(), Codes{"lint.no-entry-point"});
  image_.symbols = {{"other_entry"}};
  const std::string path = world_.write(world_.root() / "p.so", image_.bytes());
  EXPECT_TRUE(lint_plugin(path, "other_entry")->empty());
}

TEST_F(PluginLintTest, NamesOtherExports) {
  for (int i = 0; i < 12; ++i) image_.symbols.push_back({"extra" + std::to_string(i), STB_WEAK, STT_OBJECT});
  image_.symbols.push_back({"local", STB_LOCAL});
  EXPECT_EQ(codes(), Codes{"lint.exported-symbol"});
  const std::string message = lint()->at(0).message;
  EXPECT_NE(message.find("12 symbols: extra0, extra1"), std::string::npos) << message;
  EXPECT_NE(message.find("extra9, and 2 more"), std::string::npos) << message;
}

TEST_F(PluginLintTest, NamesUniqueSymbols) {
  image_.symbols.push_back({"_ZN1A8instanceE", STB_GNU_UNIQUE, STT_OBJECT});
  EXPECT_EQ(codes(), Codes{"lint.unique-symbol"});
  EXPECT_NE(lint()->at(0).message.find("1 symbol that"), std::string::npos);
}

TEST_F(PluginLintTest, WantsAPlainStack) {
  image_.executable_stack = true;
  EXPECT_EQ(codes(), Codes{"lint.executable-stack"});
  image_.says_stack = false;
  EXPECT_EQ(codes(), Codes{"lint.executable-stack"});
}

TEST_F(PluginLintTest, WantsPositionIndependentCode) {
  image_.flags = DF_TEXTREL;
  EXPECT_EQ(codes(), Codes{"lint.text-relocation"});
}

TEST_F(PluginLintTest, WantsRelativeRunpaths) {
  image_.runpath = "$ORIGIN:/opt/build/lib:${ORIGIN}/../lib";
  EXPECT_EQ(codes(), Codes{"lint.absolute-runpath"});
  EXPECT_NE(lint()->at(0).message.find("/opt/build/lib"), std::string::npos);
  image_.runpath = "$ORIGIN:::";
  EXPECT_NE(lint()->at(0).message.find("in the working directory"), std::string::npos) << lint()->at(0).message;
}

TEST_F(PluginLintTest, WantsAWayToLibrariesBesideIt) {
  image_.needed = {"libprivate.so.1", "libc.so.6"};
  EXPECT_EQ(codes(), Codes());
  world_.write(world_.root() / "libprivate.so.1", ElfImage().bytes());
  EXPECT_EQ(codes(), Codes{"lint.no-origin"});
  image_.runpath = "$ORIGIN";
  EXPECT_EQ(codes(), Codes());
}

TEST_F(PluginLintTest, OpensNothingElsewhere) {
  world_.write(world_.folder("other") / "libprivate.so.1", ElfImage().bytes());
  image_.needed = {"other/libprivate.so.1"};
  EXPECT_EQ(codes(), Codes());
}

TEST_F(PluginLintTest, WantsABuildId) {
  image_.notes.clear();
  EXPECT_EQ(codes(), Codes{"lint.no-build-id"});
}

// The hash table of a real library counts the symbols in another way.
TEST_F(PluginLintTest, ReadsRealLibraries) {
  const auto has = [](const std::string& fixture, const std::string& code) {
    const Result<std::vector<Notice>> notices = lint_plugin(fixture_library(fixture));
    EXPECT_TRUE(notices.ok()) << notices.status().message();
    return notices && std::any_of(notices->begin(), notices->end(), [&](const Notice& n) { return n.code == code; });
  };
  EXPECT_FALSE(has("toy", "lint.no-entry-point"));
  EXPECT_TRUE(has("toy_no_entry", "lint.no-entry-point"));
}

TEST_F(PluginLintTest, RefusesWhatIsNoLibrary) {
  EXPECT_EQ(lint_plugin(world_.write(world_.root() / "text.so", "just a text")).status().id(), "elf.magic");
  EXPECT_EQ(lint_plugin("/nonexistent/p.so").status().id(), "file.missing");
}

TEST_F(PluginLintTest, SurvivesEveryWrongByte) {
  image_.symbols.push_back({"extra"});
  const std::string good = image_.bytes();
  for (size_t at = 0; at < good.size(); ++at)
    for (const int change : {0xFF, 0x01, 0x80}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const Result<std::vector<Notice>> notices = lint_plugin(MemoryFile(bytes).path());
      EXPECT_TRUE(notices.ok() || notices.status().id().starts_with("elf.")) << notices.status().id();
    }
}

}  // namespace
}  // namespace backplane
