#include "file_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace backplane::onnx_import {
namespace {

// KiB of files that the process has in memory.
int64_t resident_file_kib() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("RssFile:", 0) == 0) return std::stoll(line.substr(8));
  }
  return -1;
}

TEST(FileMap, EvictedPagesLeaveAndComeBack) {
  constexpr int64_t kBytes = int64_t{32} << 20;
  const auto path = std::filesystem::path(::testing::TempDir()) / "evicted.bin";
  std::ofstream(path, std::ios::binary) << std::string(kBytes, 'x') << "end";
  const auto map = FileMap::open(path.string());
  std::filesystem::remove(path);
  ASSERT_TRUE(map.ok()) << map.status().to_string();
  const auto bytes = (*map)->bytes();
  const auto count = [&] { return std::count(bytes.begin(), bytes.end(), std::byte{'x'}); };
  EXPECT_EQ(count(), kBytes);
  const int64_t touched = resident_file_kib();
  if (touched < 0) GTEST_SKIP() << "the system does not say what is resident";
  (*map)->evict(bytes.subspan(1, kBytes / 2));
  EXPECT_LT(resident_file_kib(), touched - kBytes / 2 / 1024 + 1024);
  (*map)->evict(bytes.first(1));  // less than a page
  (*map)->evict({});
  EXPECT_EQ(count(), kBytes);
}

}  // namespace
}  // namespace backplane::onnx_import
