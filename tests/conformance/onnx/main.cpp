// Runs every test model of a folder and prints what passed, failed and is not supported:
//   onnx_conformance_test <plugin folder> <folder of cases> [<case>]
// Exit status: 1 if a case failed, 77 if there is no such folder.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

#include "case.hpp"

namespace {

using namespace backplane;
using testing::Outcome;
using testing::Verdict;

Result<std::unique_ptr<Runtime>> open_runtime(const std::string& plugins) {
  RuntimeOptions options;
  options.plugin_paths = {plugins};
  options.search_system = false;
  return Runtime::open(std::move(options));
}

std::vector<std::string> cases_in(const std::string& folder, const std::string& wanted) {
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && (wanted.empty() || name == wanted)) cases.push_back(name);
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " <plugin folder> <folder of cases> [<case>]\n";
    return 2;
  }
  const std::string folder = argv[2];
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "skipped: no folder " << folder << "; install libonnx-testdata\n";
    return 77;
  }
  auto runtime = open_runtime(argv[1]);
  if (!runtime.ok() || (*runtime)->devices().empty()) {
    std::cerr << "no device from " << argv[1] << "\n";
    return 2;
  }
  std::map<Verdict, int> counts;
  for (const std::string& name : cases_in(folder, argc > 3 ? argv[3] : "")) {
    std::cout << name << std::flush;  // first, so that a crash has a name
    const Outcome outcome = testing::run_case(**runtime, folder + "/" + name);
    const char* words[] = {"passed", "FAILED", "unsupported"};
    std::cout << ": " << words[static_cast<int>(outcome.verdict)] << " " << outcome.why << "\n";
    ++counts[outcome.verdict];
  }
  std::cout << counts[Verdict::passed] << " passed, " << counts[Verdict::failed] << " failed, "
            << counts[Verdict::unsupported] << " unsupported\n";
  return counts[Verdict::failed] == 0 ? 0 : 1;
}
