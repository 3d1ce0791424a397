#include "node_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace backplane_cpu_hbm::testing {
namespace {

namespace fs = std::filesystem;

// A folder that stands for the root of a machine of 1000 KiB, 600 of them free.
class NodeMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("hbm_node_test_" + std::to_string(getpid()));
    write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    const fs::path file = root_.string() + path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void add_node(uint32_t node, int total, int free, int pages) {
    const std::string who = "Node " + std::to_string(node) + " ";
    write("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo",
          who + "MemTotal:  " + std::to_string(total) + " kB\n" + who + "MemFree:  " + std::to_string(free) + " kB\n" +
              who + "Inactive(anon):  7 kB\n" + who + "Inactive(file):  " + std::to_string(pages) + " kB\n" + who +
              "HugePages_Total:   0\n");
  }
  backplane_cpu::MemoryFigures read(const NodeSet& nodes) { return read_node_memory(nodes, root_.string()); }
  fs::path root_;
};

TEST_F(NodeMemory, FreeIsWhatIsUnusedOrHoldsFilesThatNobodyReads) {
  add_node(1, 100, 30, 5);
  EXPECT_EQ(read({1}).total_bytes, 100u * 1024);
  EXPECT_EQ(read({1}).free_bytes, 35u * 1024);
}

TEST_F(NodeMemory, NodesAreAddedUp) {
  add_node(0, 500, 10, 0);
  add_node(2, 100, 30, 0);
  add_node(3, 100, 40, 0);
  EXPECT_EQ(read({2, 3}).total_bytes, 200u * 1024);
  EXPECT_EQ(read({2, 3}).free_bytes, 70u * 1024);
}

TEST_F(NodeMemory, ANodeThatIsNotThereHasNothing) {
  EXPECT_EQ(read({7}).total_bytes, 0u);
  EXPECT_EQ(read({7}).free_bytes, 0u);
}

TEST_F(NodeMemory, NoMoreThanTheProcessMayHave) {
  add_node(0, 900, 500, 0);
  write("/proc/self/cgroup", "0::/job\n");
  write("/sys/fs/cgroup/job/memory.max", "204800\n");
  write("/sys/fs/cgroup/job/memory.current", "104800\n");
  EXPECT_EQ(read({0}).total_bytes, 204800u);
  EXPECT_EQ(read({0}).free_bytes, 100000u);
}

}  // namespace
}  // namespace backplane_cpu_hbm::testing
