// ToyRuntime: a Runtime with the toy plugins of the fixtures, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backplane/runtime/runtime.hpp"
#include "fixtures/plugin_world.hpp"

namespace backplane {

class ToyRuntime : public ::testing::Test {
 protected:
  // Each fixture's plugin id is given with it.
  void install(const std::string& fixture, const std::string& id = "org.test.toy") {
    world_.install(world_.folder("plugins"), fixture, id);
  }
  void open() {
    runtime_.reset();
    RuntimeOptions options;
    options.plugin_paths = {world_.folder("plugins")};
    options.search_system = false;
    options.worker_count = 2;
    Result<std::unique_ptr<Runtime>> runtime = Runtime::open(std::move(options));
    ASSERT_TRUE(runtime.ok()) << runtime.status().message();
    runtime_ = std::move(*runtime);
  }
  Device& toy() {
    if (!runtime_) {
      install("toy");
      open();
    }
    return *runtime_->devices().at(0);
  }

  PluginWorld world_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace backplane
