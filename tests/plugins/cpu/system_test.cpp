#include "src/system.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace backplane_cpu::testing {
namespace {

// A folder that stands for the root of a machine.
class SystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("cpu_system_test_" + std::to_string(getpid()));
    write("/proc/meminfo", "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_.string() + path).substr(0, (root_.string() + path).find_last_of('/')));
    std::ofstream(root_.string() + path) << text;
  }
  MemoryFigures read() { return read_memory(root_.string()); }
  std::filesystem::path root_;
};

TEST_F(SystemTest, WithoutControlGroups) {
  EXPECT_EQ(read().total_bytes, 1000u * 1024);
  EXPECT_EQ(read().free_bytes, 600u * 1024);
}

TEST_F(SystemTest, TheTightestGroupOfThePathCounts) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/memory.max", "204800\n");
  write("/sys/fs/cgroup/outer/memory.current", "154800\n");
  write("/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 50000\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(read().total_bytes, 204800u);
  EXPECT_EQ(read().free_bytes, 100000u);
}

TEST_F(SystemTest, FirstVersionGroups) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/job\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "400000\n");
  EXPECT_EQ(read().total_bytes, 300000u);
  EXPECT_EQ(read().free_bytes, 0u);
}

TEST_F(SystemTest, ALimitAboveTheMachineIsNone) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "9223372036854771712\n");
  EXPECT_EQ(read().total_bytes, 1000u * 1024);
}

TEST_F(SystemTest, ProcessorName) {
  EXPECT_EQ(processor_name(root_.string()), "CPU");
  write("/proc/cpuinfo", "processor : 0\nmodel name\t: Example 9000\n");
  EXPECT_EQ(processor_name(root_.string()), "Example 9000");
}

TEST(SystemOfThisMachine, FiguresAreConsistent) {
  const MemoryFigures figures = read_memory();
  EXPECT_LE(figures.free_bytes, figures.total_bytes);
}

}  // namespace
}  // namespace backplane_cpu::testing
