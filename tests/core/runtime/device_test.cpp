#include "backplane/runtime/device.hpp"

#include "toy_runtime.hpp"

namespace backplane {
namespace {

class DeviceTest : public ToyRuntime {};

TEST_F(DeviceTest, KnowsWhatItIs) {
  const Device& device = toy();
  EXPECT_EQ(device.name(), "toy0");
  EXPECT_EQ(device.description(), "Toy device");
  EXPECT_EQ(device.plugin_id(), "org.test.toy");
  EXPECT_EQ(device.bus_id(), "");
  EXPECT_EQ(device.type(), BP_DEVICE_GPU);
  EXPECT_EQ(device.max_rank(), 4u);
  EXPECT_FALSE(device.has(BP_CAP_EVENTS));
  ASSERT_EQ(device.memory_types().size(), 1u);
  EXPECT_EQ(device.memory_types()[0].name, "toy");
  EXPECT_TRUE(device.memory_types()[0].host_visible());
  EXPECT_EQ(device.memory_types()[0].alignment, 64u);
}

TEST_F(DeviceTest, UnknownAndImpossibleFiguresAreAbsent) {
  const MemoryStats stats = toy().memory().value();
  EXPECT_EQ(stats.total, uint64_t{1} << 20);
  EXPECT_EQ(stats.free, std::nullopt);  // the toy claims more than the total
  EXPECT_EQ(stats.used, 0u);
  EXPECT_EQ(stats.peak, std::nullopt);
}

TEST_F(DeviceTest, AnswersQueriesWithReasons) {
  bp_node nodes[2] = {};
  bp_graph graph = {};
  graph.head = {sizeof graph, BP_KIND_GRAPH, nullptr};
  graph.nodes = nodes;
  graph.node_count = 2;
  graph.node_stride = sizeof(bp_node);
  const auto all = toy().query(graph).value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].runs());
  EXPECT_EQ(all[1].reason, "the toy computes nothing");
  const uint32_t one[] = {1};
  EXPECT_EQ(toy().query(graph, one).value().size(), 1u);
}

TEST_F(DeviceTest, MissingAbilitiesAreUnimplemented) {
  int memory = 0;
  const bp_graph graph = {};
  EXPECT_EQ(toy().create_event().status().code(), Code::unimplemented);
  EXPECT_EQ(toy().compile(graph).status().code(), Code::unimplemented);
  EXPECT_EQ(toy().import(0, &memory, 4, 0, true).status().code(), Code::unimplemented);
  EXPECT_EQ(toy().tensor_bytes(0, graph, 0).status().code(), Code::invalid_argument);
}

TEST_F(DeviceTest, AllocationChecksTypeAndLimit) {
  EXPECT_EQ(toy().allocate(1, 16, 0).status().code(), Code::invalid_argument);
  EXPECT_EQ(toy().allocate(0, (1u << 20) + 1, 0).status().code(), Code::invalid_argument);
  EXPECT_TRUE(toy().allocate(0, 1u << 20, 0).ok());
}

TEST_F(DeviceTest, GivesExtensions) {
  EXPECT_NE(toy().extension<bp_table_head>("toy.version"), nullptr);
  EXPECT_EQ(toy().extension<bp_table_head>("toy.version", 2), nullptr);
  EXPECT_EQ(toy().extension<bp_table_head>("other"), nullptr);
}

}  // namespace
}  // namespace backplane
