// A Runtime that is led by environment and configuration, as programs have it.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "toy_runtime.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class SystemSearchTest : public ToyRuntime {
 protected:
  SystemSearchTest() : folder_(world_.folder("plugins")) {
    world_.set("BACKPLANE_PLUGIN_PATH", folder_);
    world_.set("XDG_CONFIG_HOME", world_.folder("config"));
    world_.set("XDG_CACHE_HOME", world_.folder("cache"));
  }

  void configure(const std::string& members) {
    world_.write(world_.folder("config/backplane/conf.d") / "50-test.json",
                 "{\"file_format_version\": \"1.0\", " + members + "}");
  }
  void open(bool secure = false) {
    runtime_.reset();
    RuntimeOptions options;
    options.environment = world_.environment(secure);
    options.plugin_paths = paths_;
    options.worker_count = 1;
    options.probe_again = probe_again_;
    options.logger = std::make_shared<Logger>(
        [this](LogLevel, std::string_view topic, std::string_view text) {
          log_.push_back(std::string(topic) + ": " + std::string(text));
        },
        LogLevel::warn);
    Result<std::unique_ptr<Runtime>> runtime = Runtime::open(std::move(options));
    ASSERT_TRUE(runtime.ok()) << runtime.status().message();
    runtime_ = std::move(*runtime);
  }
  // Of the toys; where the caller's variables do not count, the plugins of this build are found too.
  Lines selectors() const {
    Lines lines;
    for (const Device* device : runtime_->devices())
      if (device->plugin_id().starts_with("org.test.")) lines.push_back(device->selector());
    return lines;
  }
  // "<outcome> <code>" of every report about a file of this test, or about what is no absolute path.
  Lines outcomes() const {
    Lines lines;
    for (const LoadReport& report : runtime_->reports())
      if (report.requested.starts_with(world_.root().string()) || report.source == "env:BACKPLANE_PLUGIN_PATH")
        lines.push_back(std::string(outcome_name(report.outcome)) + " " + report.code);
    return lines;
  }
  // "<severity> <code>" of every notice.
  Lines notices() const {
    Lines lines;
    for (const Notice& notice : runtime_->notices())
      lines.push_back(std::string(severity_name(notice.severity)) + " " + notice.code);
    return lines;
  }

  fs::path folder_;
  std::vector<std::string> paths_;
  bool probe_again_ = false;
  Lines log_;
};

// ---- which devices, in which order

TEST_F(SystemSearchTest, OnlyTheDevicesOfTheVariableInItsOrder) {
  install("toy");
  install("toy_cpu", "org.test.toy-cpu");
  world_.set("BACKPLANE_DEVICES", "org.test.toy-cpu:1, toy0");
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.toy-cpu:1", "org.test.toy:0"}));
  EXPECT_EQ(notices(), Lines{});
  EXPECT_EQ(runtime_->device("org.test.toy-cpu:0").status().code(), Code::not_found);
  EXPECT_EQ(runtime_->best_device().value()->selector(), "org.test.toy-cpu:1");
}

TEST_F(SystemSearchTest, ADeviceThatIsAskedForAndMissingIsAnError) {
  install("toy");
  world_.set("BACKPLANE_DEVICES", "gpu7");
  open();
  EXPECT_EQ(selectors(), Lines{});
  EXPECT_EQ(notices(), (Lines{"error device.not-found"}));
  EXPECT_NE(runtime_->notices()[0].message.find("BACKPLANE_DEVICES"), std::string::npos);
}

TEST_F(SystemSearchTest, ConfigurationOrdersAndHidesDevices) {
  install("toy");
  install("toy_cpu", "org.test.toy-cpu");
  configure(R"("devices": {"order": ["org.test.toy-cpu:1"], "hide": ["org.test.toy-cpu:0"]})");
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.toy-cpu:1", "org.test.toy:0"}));
  world_.set("BACKPLANE_DEVICES", "*");  // the variable brings no hidden device back
  open();
  EXPECT_EQ(selectors().size(), 2u);
}

TEST_F(SystemSearchTest, PriorityComesBeforeTheOrderOfDiscovery) {
  install("toy");
  fs::copy_file(fixture_library("bad"), folder_ / "z+org.test.z.so");
  world_.write(folder_ / "z.json", manifest_text("org.test.z", "z+org.test.z.so"));
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.toy:0", "org.test.z:0"}));
  configure(R"("plugins": {"org.test.z": {"priority": 1}})");
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.z:0", "org.test.toy:0"}));
}

// ---- what was asked for, and what is merely absent

TEST_F(SystemSearchTest, ARequiredPluginThatIsNotThereIsAnErrorThatSaysWhy) {
  configure(R"("plugins": {"org.test.toy": {"required": true}})");
  open();
  EXPECT_EQ(notices(), (Lines{"error plugin.required"}));
  EXPECT_NE(runtime_->notices()[0].message.find("not found"), std::string::npos);
  install("toy_open_error");
  open();
  EXPECT_EQ(notices(), (Lines{"error plugin.required"}));
  EXPECT_NE(runtime_->notices()[0].message.find("toy open error"), std::string::npos) << runtime_->notices()[0].message;
  EXPECT_TRUE(runtime_->notices()[0].file.ends_with("50-test.json"));
  fs::remove(folder_ / "toy_open_error.json");
  install("toy");
  open();
  EXPECT_EQ(notices(), Lines{});
}

TEST_F(SystemSearchTest, AbsentHardwareIsNeitherNoticeNorLogLine) {
  install("toy_no_hardware");
  world_.install(folder_, "toy_cpu", "org.test.toy-cpu");
  open();
  EXPECT_EQ(outcomes(), (Lines{"active ok", "skipped probe.no-hardware"}));
  EXPECT_EQ(notices(), Lines{});
  EXPECT_EQ(log_, Lines{});
}

// ---- places

TEST_F(SystemSearchTest, OverlappingPlacesGiveEveryDeviceOnce) {
  install("toy");
  fs::create_directory_symlink(folder_, world_.root() / "link");
  const std::string path = folder_.string();
  world_.set("BACKPLANE_PLUGIN_PATH", path + ":" + path + "/:" + path + "/.:" + path + "/../link:" + path +
                                          "/toy.json:" + (world_.root() / "link" / "toy.json").string());
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.toy:0"}));
  for (const std::string& outcome : outcomes())
    EXPECT_TRUE(outcome == "active ok" || outcome == "skipped file.shadowed") << outcome;
}

TEST_F(SystemSearchTest, FilesAndFoldersMixInOneList) {
  const fs::path other = world_.folder("other");
  world_.install(other, "toy_cpu", "org.test.toy-cpu");
  install("toy");
  world_.set("BACKPLANE_PLUGIN_PATH", (other / "toy_cpu.json").string() + ":" + folder_.string() + "/");
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.toy:0", "org.test.toy-cpu:0", "org.test.toy-cpu:1"}));
}

TEST_F(SystemSearchTest, ARelativePlaceIsRefusedWithAHint) {
  install("toy");
  const fs::path before = fs::current_path();
  fs::current_path(world_.root());
  world_.set("BACKPLANE_PLUGIN_PATH", "plugins");
  open();
  EXPECT_EQ(outcomes(), (Lines{"failed path.relative"}));
  EXPECT_FALSE(runtime_->reports()[0].hint.empty());
  world_.set("BACKPLANE_PLUGIN_PATH", ".");
  open();
  EXPECT_EQ(outcomes(), (Lines{"failed path.relative"}));
  fs::current_path(before);
}

// Also where the working folder is full of plugins, and where there is none.
TEST_F(SystemSearchTest, TheWorkingFolderDoesNotMatter) {
  install("toy");
  const fs::path before = fs::current_path(), planted = world_.folder("planted");
  world_.install(planted, "toy_cpu", "org.test.toy-cpu");
  fs::create_directories(planted / "backplane");
  fs::create_directory_symlink(planted, planted / "backplane" / "plugins.d");
  const fs::path gone = world_.folder("gone");
  for (const fs::path& here : {fs::path("/"), planted, gone}) {
    fs::current_path(here);
    if (here == gone) fs::remove(gone);
    open();
    EXPECT_EQ(selectors(), (Lines{"org.test.toy:0"})) << here;
    EXPECT_TRUE(runtime_->rescan().ok());
    EXPECT_EQ(runtime_->reports().size(), 1u) << here;
  }
  paths_ = {"plugins"};  // relative to what is no more
  open();
  EXPECT_EQ(selectors(), (Lines{"org.test.toy:0"}));
  EXPECT_EQ(runtime_->reports()[0].code.substr(0, 5), "path.");
  fs::current_path(before);
}

TEST_F(SystemSearchTest, WhatIsLoadedIsWhatWasRead) {
  const fs::path real = world_.folder("real");
  world_.install(real, "toy");
  fs::create_symlink(real / "toy.json", folder_ / "toy.json");
  open();
  const LoadReport report = runtime_->reports().at(0);
  EXPECT_EQ(report.requested, folder_ / "toy.json");
  EXPECT_EQ(report.library_path, real / "toy.so");
  EXPECT_EQ(report.loaded_path, real / "toy.so");
  EXPECT_EQ(runtime_->plugins().at(0).library_path, real / "toy.so");
}

// The library has the last word on its version; on its id nobody has.
TEST_F(SystemSearchTest, AVersionThatDisagreesIsNoted) {
  world_.install(folder_, "toy", "org.test.toy", ",\"version\":\"9.9.9\"");
  open();
  const LoadReport report = runtime_->reports().at(0);
  EXPECT_EQ(report.version, "1.2.3");
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes.back().find("9.9.9"), std::string::npos) << report.notes.back();
  EXPECT_NE(report.notes.back().find("1.2.3"), std::string::npos) << report.notes.back();
}

// ---- privileges and trust

TEST_F(SystemSearchTest, APrivilegedProcessIsNotLedByItsCaller) {
  install("toy");
  configure(R"("plugins": {"org.test.toy": {"required": true}})");
  world_.set("BACKPLANE_DEVICES", "toy0");
  open(true);
  EXPECT_EQ(selectors(), Lines{});
  EXPECT_EQ(notices(), (Lines{"warning env.ignored"}));
  for (const char* name : {"BACKPLANE_PLUGIN_PATH", "BACKPLANE_DEVICES"})
    EXPECT_NE(runtime_->notices()[0].message.find(name), std::string::npos) << name;
}

TEST_F(SystemSearchTest, APrivilegedProcessLoadsNothingThatOthersCouldHaveWritten) {
  install("toy");
  install("toy_cpu", "org.test.toy-cpu");
  paths_ = {folder_};
  fs::permissions(folder_ / "toy.so", fs::perms::all);
  open(true);
  EXPECT_EQ(outcomes(), (Lines{"failed trust.writable", "active ok"}));
  open(false);
  EXPECT_EQ(outcomes(), (Lines{"active ok", "active ok"}));
  EXPECT_FALSE(runtime_->reports()[0].notes.empty());
  configure(R"("trust": "strict")");
  open(false);
  EXPECT_EQ(outcomes(), (Lines{"failed trust.writable", "active ok"}));
}

// ---- trials, events, costs

TEST_F(SystemSearchTest, AVerdictIsRememberedUntilSomebodyAsksAgain) {
  fs::copy_file(fixture_library("bad"), folder_ / "open-abort.so");
  world_.write(folder_ / "bad.json", manifest_text("org.test.toy", "open-abort.so"));
  world_.set("BACKPLANE_PROBE", "cached");
  const auto is_remembered = [this] {
    return runtime_->reports().at(0).message.find("(an earlier trial)") != std::string::npos;
  };
  open();
  EXPECT_EQ(outcomes(), (Lines{"failed probe.crashed"}));
  EXPECT_FALSE(is_remembered());
  open();
  EXPECT_EQ(outcomes(), (Lines{"failed probe.crashed"}));
  EXPECT_TRUE(is_remembered());
  probe_again_ = true;
  open();
  EXPECT_EQ(outcomes(), (Lines{"failed probe.crashed"}));
  EXPECT_FALSE(is_remembered());
}

TEST_F(SystemSearchTest, DeviceEventsAreLoggedUnderThePluginsId) {
  fs::copy_file(fixture_library("bad"), folder_ / "opened-lose.so");
  world_.write(folder_ / "lose.json", manifest_text("org.test.toy", "opened-lose.so"));
  open();
  EXPECT_EQ(outcomes(), (Lines{"active ok"}));
  EXPECT_NE(std::find(log_.begin(), log_.end(), "org.test.toy: a device is lost"), log_.end());
}

TEST_F(SystemSearchTest, ListingMakesNothingOnTheDevice) {
  install("toy");
  open();
  for (const Device* device : runtime_->devices()) EXPECT_EQ(device->memory()->used, 0u);
}

}  // namespace
}  // namespace backplane
