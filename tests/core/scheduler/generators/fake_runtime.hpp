// A Runtime over fake devices only, made from the options that one test wants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backplane/runtime/runtime.hpp"

namespace backplane::testing {

class FakeRuntime {
 public:
  // `options` is the JSON object that the fake plugin is opened with, such as {"devices": 2}.
  explicit FakeRuntime(const std::string& options);
  ~FakeRuntime();

  Runtime& operator*() { return *runtime_; }
  Runtime* operator->() { return runtime_.get(); }
  std::vector<Device*> devices() const { return runtime_->devices(); }

 private:
  std::string folder_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace backplane::testing
