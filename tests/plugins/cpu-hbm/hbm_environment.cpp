// Makes NUMA node 0 high-bandwidth memory for the whole program, before memkind looks.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class HighBandwidthNode final : public ::testing::Environment {
 public:
  void SetUp() override { setenv("MEMKIND_HBW_NODES", "0", 1); }
};

const ::testing::Environment* const kNode = ::testing::AddGlobalTestEnvironment(new HighBandwidthNode);

}  // namespace
