#include "backplane/registry/cpu_features.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace backplane {
namespace {

TEST(CpuFeatures, TellsWhatIsMissingInOrder) {
  const CpuFeatures cpu({"avx", "avx2"});
  const std::vector<std::string> required = {"fma", "avx2", "avx512f"};
  EXPECT_EQ(cpu.missing(required), (std::vector<std::string>{"fma", "avx512f"}));
  EXPECT_TRUE(cpu.missing({}).empty());
}

// The kernel lists the same abilities under its own names.
TEST(CpuFeatures, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) flags.insert(word);
      break;
    }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"sse4.2", "sse4_2"}, {"avx", "avx"},         {"avx2", "avx2"},         {"fma", "fma"},
      {"f16c", "f16c"},     {"bmi2", "bmi2"},       {"lzcnt", "abm"},         {"movbe", "movbe"},
      {"popcnt", "popcnt"}, {"avx512f", "avx512f"}, {"avx512bw", "avx512bw"}, {"avx512vnni", "avx512_vnni"}};
  const CpuFeatures cpu = CpuFeatures::detect();
  for (const auto& [ours, kernels] : pairs) EXPECT_EQ(cpu.has(ours), flags.contains(kernels)) << ours;
}

TEST(CpuFeatures, KnowsTheNamesThatManifestsUse) {
  const std::set<std::string> names(CpuFeatures::known_names().begin(), CpuFeatures::known_names().end());
  for (const char* name : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd",
                           "avx512vnni", "avx512bf16", "sse4.2", "bmi2"})
    EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace backplane
