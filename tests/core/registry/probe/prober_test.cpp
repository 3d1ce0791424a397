// Probes as part of loading: what a trial condemns is not loaded, and is remembered.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "backplane/base/thread_pool.hpp"
#include "fixtures/plugin_world.hpp"
#include "registry/registry.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class ProberTest : public ::testing::Test {
 protected:
  ProberTest() : folder_(world_.folder("plugins")) {
    world_.set("BACKPLANE_PLUGIN_PATH", folder_);
    world_.set("BACKPLANE_PROBE", "cached");
    world_.set("XDG_CACHE_HOME", world_.folder("cache"));
  }

  // A copy of the plugin that does what its name says.
  void install_bad(const std::string& name) {
    fs::copy_file(fixture_library("bad"), folder_ / (name + ".so"));
    world_.write(folder_ / (name + ".json"), manifest_text("org.test.toy", name + ".so"));
  }
  // "<file>: <outcome> <stage> <code>" of every report.
  Lines scan(bool secure = false) {
    options_.environment = world_.environment(secure);
    Registry registry(options_, log_, pool_);
    const Status status = registry.scan([](const Plugin&) { return Status(); });
    EXPECT_TRUE(status.ok()) << status.message();
    reports_ = registry.reports();
    Lines lines;
    for (const LoadReport& report : reports_)
      lines.push_back(fs::path(report.requested).filename().string() + ": " +
                      std::string(outcome_name(report.outcome)) + " " + std::string(stage_name(report.stage)) + " " +
                      report.code);
    return lines;
  }
  bool remembered() const { return reports_.at(0).message.find("an earlier trial") != std::string::npos; }
  size_t records() const {
    const fs::path cache = world_.root() / "cache" / "backplane" / "probe";
    return fs::exists(cache) ? static_cast<size_t>(std::distance(fs::directory_iterator(cache), {})) : 0;
  }

  PluginWorld world_;
  Logger log_;
  ThreadPool pool_{2};
  RegistryOptions options_;
  fs::path folder_;
  std::vector<LoadReport> reports_;
};

TEST_F(ProberTest, WhatCrashesIsNotLoadedAndTheNextOfItsIdIs) {
  install_bad("constructor-trap");
  world_.install(folder_, "toy");
  EXPECT_EQ(scan(), (Lines{"constructor-trap.json: failed probe probe.crashed", "toy.json: active active ok"}));
  EXPECT_NE(reports_[0].signal, 0);
  EXPECT_NE(reports_[0].hint.find("backplane doctor --retry org.test.toy"), std::string::npos);
  EXPECT_FALSE(remembered());
  // The second was in the shadow of the first, and so not tried before it stepped in.
  EXPECT_EQ(records(), 2u);
}

TEST_F(ProberTest, VerdictsAreRememberedUntilTheContentChanges) {
  install_bad("open-abort");
  EXPECT_EQ(scan(), (Lines{"open-abort.json: failed probe probe.crashed"}));
  EXPECT_EQ(scan(), (Lines{"open-abort.json: failed probe probe.crashed"}));
  EXPECT_TRUE(remembered());
  options_.probe_again = true;
  scan();
  EXPECT_FALSE(remembered());
  options_.probe_again = false;
  scan();
  EXPECT_TRUE(remembered());
  fs::copy_file(fixture_library("toy"), folder_ / "new");
  fs::rename(folder_ / "new", folder_ / "open-abort.so");
  EXPECT_EQ(scan(), (Lines{"open-abort.json: active active ok"}));
}

TEST_F(ProberTest, AlwaysMeansAlways) {
  install_bad("open-abort");
  world_.set("BACKPLANE_PROBE", "always");
  scan();
  scan();
  EXPECT_FALSE(remembered());
  EXPECT_EQ(records(), 0u);
}

TEST_F(ProberTest, OrderlyFailuresAreToldByTheLoadItself) {
  world_.install(folder_, "toy_open_error");
  EXPECT_EQ(scan(), (Lines{"toy_open_error.json: failed open open.failed"}));
  EXPECT_EQ(records(), 0u);
}

TEST_F(ProberTest, WithoutLoadingNothingIsTried) {
  install_bad("constructor-trap");
  options_.load = false;
  EXPECT_EQ(scan(), (Lines{"constructor-trap.json: eligible probe eligible"}));
  EXPECT_EQ(records(), 0u);
}

TEST_F(ProberTest, APrivilegedProcessNeitherTriesNorRemembers) {
  world_.install(folder_, "toy");
  options_.plugin_paths = {folder_};  // the variable does not count
  const Lines lines = scan(true);
  EXPECT_EQ(lines.at(0), "toy.json: active active ok");
  EXPECT_EQ(records(), 0u);
}

TEST_F(ProberTest, APrivilegedProcessTrustsNobody) {
  world_.install(folder_, "toy");
  options_.plugin_paths = {folder_};
  ASSERT_EQ(chmod((folder_ / "toy.so").c_str(), 0777), 0);
  EXPECT_EQ(scan(true).at(0), "toy.json: failed trust trust.writable");
  const Lines lines = scan();
  EXPECT_EQ(lines.at(0), "toy.json: active active ok");
  ASSERT_EQ(reports_[0].notes.size(), 1u);
  EXPECT_NE(reports_[0].notes[0].find("can be changed by everybody"), std::string::npos);
}

TEST_F(ProberTest, PinsOfManifestAndConfigurationAreHeld) {
  world_.install(folder_, "toy", "org.test.toy", ",\"sha256\":\"" + std::string(64, '0') + "\"");
  EXPECT_EQ(scan(), (Lines{"toy.json: failed pin pin.mismatch"}));
  fs::remove(folder_ / "toy.so");
  world_.install(folder_, "toy");
  world_.set("BACKPLANE_CONFIG", world_.write(world_.root() / "pin.json", R"({"file_format_version": "1.0",
    "plugins": {"org.test.toy": {"sha256": ")" + std::string(64, 'f') + R"(", "required": true}}})"));
  EXPECT_EQ(scan(), (Lines{"toy.json: failed pin pin.mismatch"}));
}

}  // namespace
}  // namespace backplane
