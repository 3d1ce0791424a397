#include "environment_overlay.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace backplane_cpu_hbm::testing {
namespace {

constexpr const char* kName = "BACKPLANE_OVERLAY_TEST";

std::string value() {
  const char* const text = getenv(kName);
  return text == nullptr ? "(none)" : text;
}

class Overlay : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv(kName); }
};

TEST_F(Overlay, AddsAVariableForAWhile) {
  char** const before = environ;
  {
    EnvironmentOverlay overlay(kName, "a");
    EXPECT_EQ(value(), "a");
    EXPECT_NE(getenv("PATH"), nullptr);
    overlay.end();
    EXPECT_EQ(value(), "(none)");
  }
  EXPECT_EQ(environ, before);
}

TEST_F(Overlay, HidesTheOldValueAndGivesItBack) {
  setenv(kName, "old", 1);
  {
    const EnvironmentOverlay overlay(kName, "new");
    EXPECT_EQ(value(), "new");
  }
  EXPECT_EQ(value(), "old");
}

TEST_F(Overlay, AVariableThatIsSetMeanwhileIsKept) {
  constexpr const char* kOther = "BACKPLANE_OVERLAY_TEST_OTHER";
  for (const char* before : {"(none)", "old"}) {
    if (std::string(before) == "old") setenv(kName, before, 1);
    {
      const EnvironmentOverlay overlay(kName, "new");
      setenv(kOther, "kept", 1);
      EXPECT_EQ(value(), "new");
    }
    EXPECT_STREQ(getenv(kOther), "kept");
    EXPECT_EQ(value(), before);
    unsetenv(kOther);
  }
}

TEST_F(Overlay, ThreadsThatReadMeanwhileFindAWholeEnvironment) {
  std::atomic<bool> done{false}, whole{true};
  std::thread reader([&] {
    while (!done) whole = whole && getenv("PATH") != nullptr;
  });
  std::vector<std::unique_ptr<EnvironmentOverlay>> overlays;  // kept: the reader may still be in their lists
  for (int i = 0; i < 200; ++i) {
    overlays.push_back(std::make_unique<EnvironmentOverlay>(kName, std::to_string(i)));
    EXPECT_EQ(value(), std::to_string(i));
    overlays.back()->end();
  }
  done = true;
  reader.join();
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
