// Runs every test model of a folder and prints what passed, failed and is not supported, the last by reason:
//   onnx_conformance_test <plugin folder>[:<plugin folder>] <folder of cases> <expectations> [<case>]
// With two devices, nodes run on them in turn. Exit status: 1 if a case failed or did not do what the expectations say,
// 77 if there is no such folder.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

#include "backplane/base/text.hpp"
#include "case.hpp"
#include "expectations.hpp"

namespace {

using namespace backplane;
using testing::Expectations;
using testing::Outcome;
using testing::Verdict;

Result<std::unique_ptr<Runtime>> open_runtime(const std::string& plugins) {
  RuntimeOptions options;
  const size_t colon = std::min(plugins.find(':'), plugins.size());
  options.plugin_paths = {plugins.substr(0, colon)};
  if (colon < plugins.size()) options.plugin_paths.push_back(plugins.substr(colon + 1));
  options.search_system = false;
  const size_t wanted = options.plugin_paths.size();
  BP_TRY_ASSIGN(auto runtime, Runtime::open(std::move(options)));
  if (runtime->devices().size() >= wanted) return runtime;
  return failed_precondition(cat("wanted ", wanted, " devices from ", plugins, ", found ", runtime->devices().size()));
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

// What ran, by verdict and by reason.
class Report {
 public:
  explicit Report(const Expectations& expectations) : expectations_(expectations) {}

  void add(const std::string& name, const Outcome& outcome) {
    const auto reason = expectations_.reason(name);
    const bool bad_data = reason && reason->rfind("test data: ", 0) == 0;
    if (outcome.verdict == Verdict::failed && !bad_data) return note(name, "FAILED", outcome.why, true);
    if (outcome.verdict == Verdict::passed) {
      ++passed_;
      if (reason) note(name, "passed, although it is expected not to be supported", *reason, true);
      return;
    }
    ++reasons_[reason.value_or("UNEXPECTED")];
    note(name, reason ? "unsupported" : "UNEXPECTEDLY unsupported", outcome.why, !reason);
  }

  void print(size_t cases) const {
    int unsupported = 0;
    for (const auto& [reason, count] : reasons_) unsupported += count;
    std::cout << passed_ << " of " << cases << " passed, " << static_cast<int>(cases) - passed_ - unsupported
              << " failed, " << unsupported << " unsupported\n";
    for (const auto& [reason, count] : reasons_) std::cout << "  " << count << "  " << reason << "\n";
  }

  bool good() const { return surprises_ == 0; }

 private:
  void note(const std::string& name, std::string_view what, const std::string& why, bool surprise) {
    std::cout << name << ": " << what << ": " << why << "\n";
    surprises_ += surprise;
  }

  const Expectations& expectations_;
  int passed_ = 0, surprises_ = 0;
  std::map<std::string, int> reasons_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: " << argv[0]
              << " <plugin folder>[:<plugin folder>] <folder of cases> <expectations> [<case>]\n";
    return 2;
  }
  const std::string folder = argv[2];
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "skipped: no folder " << folder << "; install libonnx-testdata\n";
    return 77;
  }
  const auto expectations = Expectations::read(argv[3]);
  auto runtime = open_runtime(argv[1]);
  if (!expectations.ok() || !runtime.ok()) {
    std::cerr << (expectations.ok() ? runtime.status() : expectations.status()).to_string() << "\n";
    return 2;
  }
  Report report(*expectations);
  const std::vector<std::string> cases = cases_in(folder, argc > 4 ? argv[4] : "");
  for (const std::string& name : cases) {
    std::cerr << name << "\n";  // first, so that a crash has a name
    report.add(name, testing::run_case(**runtime, folder + "/" + name));
  }
  report.print(cases.size());
  return report.good() ? 0 : 1;
}
