#include "backplane/registry/plugin_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backplane/registry/search_path.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

// "<severity> <code>" of every notice.
std::vector<std::string> codes(const PluginFileCheck& check) {
  std::vector<std::string> codes;
  for (const Notice& notice : check.notices)
    codes.push_back(std::string(severity_name(notice.severity)) + " " + notice.code);
  return codes;
}

bool has(const PluginFileCheck& check, const std::string& line) {
  const auto all = codes(check);
  return std::find(all.begin(), all.end(), line) != all.end();
}

// Only what every system has: the C and C++ libraries, their sanitizers, log lines, and the hash of pins.
TEST(PluginFile, TheCoreNeedsNoVendorsLibrary) {
  const Result<LibraryFacts> core = inspect_library(core_library_path(), Environment());
  ASSERT_TRUE(core.ok()) << core.status().message();
  EXPECT_FALSE(core->needed.empty());
  for (const std::string& name : core->needed) {
    bool plain = false;
    for (const char* known : {"ld-linux", "libc.so", "libm.so", "libgcc_s.so", "libstdc++.so", "libasan.so",
                              "libubsan.so", "libtsan.so", "libnettle.so", "libspdlog.so", "libfmt.so"})
      plain |= name.starts_with(known);
    EXPECT_TRUE(plain) << name;
  }
}

TEST(PluginFile, FactsAreThoseOfTheFile) {
  const Result<LibraryFacts> facts = inspect_library(fixture_library("toy_missing_library"), Environment());
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(facts->bytes, fs::file_size(fixture_library("toy_missing_library")));
  EXPECT_EQ(facts->sha256.size(), 64u);
  EXPECT_TRUE(facts->manifest.empty());
  ASSERT_EQ(facts->missing.size(), 1u);
  EXPECT_NE(facts->missing[0].find("libfixture_unfound.so"), std::string::npos) << facts->missing[0];
  EXPECT_EQ(inspect_library("/nowhere.so", Environment()).status().id(), "file.missing");
}

TEST(PluginFile, ChecksAManifestAndItsLibrary) {
  PluginWorld world;
  const PluginFileCheck good = check_plugin_file(world.install(world.root(), "toy"), Environment());
  EXPECT_EQ(good.plugin_id, "org.test.toy");
  EXPECT_EQ(good.library_path, world.root() / "toy.so");
  for (const Notice& notice : good.notices) EXPECT_NE(notice.severity, Severity::error) << notice.message;
  const fs::path missing = world.install(world.root(), "toy_missing_library");
  EXPECT_TRUE(has(check_plugin_file(missing, Environment()), "error dlopen.missing-library"));
  const fs::path broken = world.write(world.root() / "broken.json", "{");
  EXPECT_EQ(codes(check_plugin_file(broken, Environment())), (std::vector<std::string>{"error manifest.syntax"}));
  EXPECT_EQ(codes(check_plugin_file(world.root() / "toy.so", Environment())),
            (std::vector<std::string>{"error library.no-manifest"}));
  const fs::path newer =
      world.write(world.root() / "newer.json",
                  R"({"file_format_version": "1.9", "plugin": {"id": "a", "library_path": "toy.so", "new": 1}})");
  EXPECT_TRUE(has(check_plugin_file(newer, Environment()), "info manifest.newer"));
}

TEST(PluginFile, WritesAManifestThatPassesTheCheck) {
  PluginWorld world;
  const fs::path library = world.copy_library(world.root(), "toy");
  const Result<std::string> text = new_manifest(library, "org.test.toy", true);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const fs::path manifest = world.write(world.root() / "toy.json", *text);
  EXPECT_EQ(check_plugin_file(manifest, Environment()).plugin_id, "org.test.toy");
  for (const Notice& notice : check_plugin_file(manifest, Environment()).notices)
    EXPECT_NE(notice.severity, Severity::error) << notice.message;
  world.copy_library(world.folder("other"), "toy_cpu");
  fs::copy_file(world.root() / "other" / "toy_cpu.so", library, fs::copy_options::overwrite_existing);
  EXPECT_TRUE(has(check_plugin_file(manifest, Environment()), "error pin.mismatch"));
  EXPECT_EQ(new_manifest(library, "Not An Id", false).status().id(), "manifest.value");
}

}  // namespace
}  // namespace backplane
