#include "registry/scan/hint.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace backplane {
namespace {

// The cells of "| a | b |".
std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> found;
  for (size_t at = 0, end = 0; (end = row.find(" |", at + 1)) != std::string::npos; at = end + 1)
    found.push_back(row.substr(at + 2, end < at + 2 ? 0 : end - at - 2));
  return found;
}

// What becomes of a candidate, so that the hint is the loader's.
bool is_of_a_candidate(const std::string& stage) {
  return stage != "active" && stage != "check" && stage.find("notice") == std::string::npos &&
         stage.find("call") == std::string::npos;
}

// The documentation is made from the table: BACKPLANE_UPDATE_DOCS=1 writes it anew.
TEST(Hint, IsThatOfTheDocumentation) {
  const std::string path = std::string(BACKPLANE_SPECS) + "/loader.md";
  std::ifstream in(path);
  std::string found, wanted;
  size_t codes = 0;
  for (std::string line; std::getline(in, line); found += line + "\n") {
    const std::vector<std::string> row = line.starts_with("| `") ? cells(line) : std::vector<std::string>();
    const bool is_code = row.size() == 4 && row[0].find('.') != std::string::npos;
    if (!is_code || !is_of_a_candidate(row[1])) {
      wanted += line + "\n";
      continue;
    }
    ++codes;
    std::string_view hint = hint_of(std::string_view(row[0]).substr(1, row[0].size() - 2));
    if (hint.empty()) hint = "nothing";
    wanted += "| " + row[0] + " | " + row[1] + " | " + row[2] + " | " + std::string(hint) + " |\n";
  }
  if (::getenv("BACKPLANE_UPDATE_DOCS") != nullptr) std::ofstream(path) << wanted;
  EXPECT_EQ(found, wanted);
  EXPECT_GT(codes, 60u);
}

TEST(Hint, FamiliesHaveOneAndStrangersNone) {
  EXPECT_EQ(hint_of("abi.e_device_lost"), hint_of("abi.e_other"));
  EXPECT_NE(hint_of("manifest.platform"), hint_of("manifest.syntax"));
  EXPECT_EQ(hint_of("stranger.code"), "");
  EXPECT_EQ(hint_of("ok"), "");
  EXPECT_EQ(hint_of(""), "");
}

}  // namespace
}  // namespace backplane
