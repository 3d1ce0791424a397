#include "fake_runtime.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace backplane::testing {
namespace {

std::string make_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "backplane-fake-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  return pattern;
}

}  // namespace

FakeRuntime::FakeRuntime(const std::string& options) : folder_(make_folder()) {
  std::ofstream(folder_ + "/fake.json") << R"({"file_format_version": "1.0", "plugin": {"id": "org.backplane.fake",
    "library_path": ")" FAKE_LIBRARY R"(", "options": )"
                                        << options << "}}\n";
  RuntimeOptions runtime_options;
  runtime_options.plugin_paths = {folder_};
  runtime_options.search_system = false;
  runtime_options.worker_count = 1;
  runtime_ = Runtime::open(std::move(runtime_options)).value();
  if (runtime_->devices().empty()) throw std::runtime_error("no fake device: " + runtime_->reports()[0].message);
}

FakeRuntime::~FakeRuntime() {
  runtime_.reset();
  std::filesystem::remove_all(folder_);
}

}  // namespace backplane::testing
