// What a running process sees of plugins that come, go and change.
#include <gtest/gtest.h>

#include <thread>

#include "backplane/base/thread_pool.hpp"
#include "fixtures/plugin_world.hpp"
#include "registry/registry.hpp"

namespace backplane {
namespace {

namespace fs = std::filesystem;

class RescanTest : public ::testing::Test {
 protected:
  RescanTest() : folder_(world_.folder("plugins")) { options_.plugin_paths = {folder_}; }

  Registry& registry() {
    if (!registry_) {
      options_.search_system = false;
      registry_ = std::make_unique<Registry>(options_, log_, pool_);
    }
    return *registry_;
  }
  // "<file>: <outcome> <code>" of every report after a scan.
  std::vector<std::string> scan() {
    const Status status = registry().scan([](const Plugin&) { return Status(); });
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::string> lines;
    for (const LoadReport& report : registry().reports())
      lines.push_back(fs::path(report.requested).filename().string() + ": " +
                      std::string(outcome_name(report.outcome)) + " " + report.code);
    return lines;
  }

  PluginWorld world_;
  Logger log_;
  ThreadPool pool_{2};
  RegistryOptions options_;
  fs::path folder_;
  std::unique_ptr<Registry> registry_;
};

using Lines = std::vector<std::string>;

TEST_F(RescanTest, NewPluginsAppearAndOldOnesStay) {
  EXPECT_EQ(scan(), Lines{});
  world_.install(folder_, "toy");
  EXPECT_EQ(scan(), (Lines{"toy.json: active ok"}));
  const Plugin* toy = registry().plugins().at(0);
  world_.install(folder_, "toy_cpu", "org.test.toy-cpu");
  EXPECT_EQ(scan(), (Lines{"toy.json: active ok", "toy_cpu.json: active ok"}));
  ASSERT_EQ(registry().plugins().size(), 2u);
  EXPECT_EQ(registry().plugins()[0], toy);
}

TEST_F(RescanTest, AnEarlierPlaceTakesNothingFromWhatIsInUse) {
  world_.install(folder_, "toy");
  scan();
  fs::copy_file(fixture_library("toy"), folder_ / "a.so");
  world_.write(folder_ / "a.json", manifest_text("org.test.toy", "a.so"));
  EXPECT_EQ(scan(), (Lines{"a.json: skipped plugin.duplicate-id", "toy.json: active ok"}));
  EXPECT_NE(registry().reports()[0].message.find("is in use"), std::string::npos);
}

TEST_F(RescanTest, AReplacedLibraryNeedsARestart) {
  world_.install(folder_, "toy");
  scan();
  fs::copy_file(fixture_library("toy"), folder_ / "new");
  fs::rename(folder_ / "new", folder_ / "toy.so");
  EXPECT_EQ(scan(), (Lines{"toy.json: skipped library.restart-needed", "toy.json: active ok"}));
  EXPECT_EQ(registry().plugins().size(), 1u);
  // Another registry of this process has no open plugin, but the old file is still mapped.
  registry_.reset();
  EXPECT_EQ(scan(), (Lines{"toy.json: failed library.restart-needed"}));
}

TEST_F(RescanTest, WhatIsInUseOutlivesItsFiles) {
  world_.install(folder_, "toy");
  scan();
  fs::remove(folder_ / "toy.json");
  fs::remove(folder_ / "toy.so");
  EXPECT_EQ(scan(), (Lines{"toy.json: active ok"}));
  EXPECT_EQ(registry().reports()[0].notes.size(), 1u);
  EXPECT_EQ(scan(), (Lines{"toy.json: active ok"}));  // and the note is not piled up
  EXPECT_EQ(registry().reports()[0].notes.size(), 1u);
}

TEST_F(RescanTest, WhatFailedIsTriedAgain) {
  world_.write(folder_ / "toy.json", manifest_text("org.test.toy", "toy.so"));
  EXPECT_EQ(scan(), (Lines{"toy.json: failed file.missing"}));
  world_.copy_library(folder_, "toy");
  EXPECT_EQ(scan(), (Lines{"toy.json: active ok"}));
}

TEST_F(RescanTest, WhatIsRefusedIsClosedAndReported) {
  world_.install(folder_, "toy");
  const Status status = registry().scan([](const Plugin&) { return failed_precondition("no", "test.refused"); });
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(registry().plugins().empty());
  EXPECT_EQ(registry().reports().at(0).code, "test.refused");
  EXPECT_EQ(registry().reports().at(0).stage, LoadStage::enumerate);
  EXPECT_EQ(scan(), (Lines{"toy.json: active ok"}));
}

TEST_F(RescanTest, AScanWithinAScanIsRefused) {
  world_.install(folder_, "toy");
  std::string nested;
  const Status status = registry().scan([&](const Plugin&) {
    nested = registry().scan([](const Plugin&) { return Status(); }).id();
    return Status();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(nested, "registry.nested");
  EXPECT_EQ(registry().plugins().size(), 1u);
}

TEST_F(RescanTest, WithoutLoadingTheVerdictIsShownAndNothingRuns) {
  world_.install(folder_, "toy");
  world_.install(folder_, "toy_open_error", "org.test.broken");
  fs::copy_file(fixture_library("toy"), folder_ / "z.so");
  world_.write(folder_ / "z.json", manifest_text("org.test.toy", "z.so"));
  options_.load = false;
  EXPECT_EQ(scan(), (Lines{"toy.json: eligible eligible", "toy_open_error.json: eligible eligible",
                           "z.json: skipped plugin.duplicate-id"}));
  EXPECT_TRUE(registry().plugins().empty());
}

// Readers see whole states while plugins come in. Run under TSan too.
TEST_F(RescanTest, ReadingGoesOnWhilePluginsAreLoaded) {
  registry();
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&] {
      while (!done) {
        size_t active = 0;
        for (const LoadReport& report : registry_->reports()) active += report.outcome == LoadOutcome::active;
        EXPECT_LE(active, registry_->plugins().size());
      }
    });
  for (const char* fixture : {"toy", "toy_no_devices", "toy_open_error"}) {
    world_.install(folder_, fixture, "org.test.toy");
    std::thread other([&] { static_cast<void>(registry_->scan([](const Plugin&) { return Status(); })); });
    scan();
    other.join();
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(registry().plugins().size(), 1u);
}

}  // namespace
}  // namespace backplane
