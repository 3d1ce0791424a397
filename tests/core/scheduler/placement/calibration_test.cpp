#include <gtest/gtest.h>

#include <algorithm>

#include "backplane/scheduler/device_costs.hpp"
#include "backplane/scheduler/session.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

// How long anything takes is for no test to say; that it was measured is.
TEST(Calibration, MeasuresWhatTheDeviceDoes) {
  FakeRuntime runtime(R"({"devices": 1})");
  Device& device = *runtime.devices()[0];
  const DeviceCosts costs = calibrate(*runtime, device).value();
  EXPECT_TRUE(costs.calibrated);
  EXPECT_GE(costs.launch_ns, 0);
  EXPECT_GT(costs.split_ns, 0);
  EXPECT_GT(costs.bytes_per_us, 0);
  for (const int64_t flops : costs.flops_per_us) EXPECT_GT(flops, 0);
  EXPECT_GT(costs.link_bytes_per_us, 0);
  EXPECT_NE(costs.flops_per_us, default_costs(device.type()).flops_per_us);
}

TEST(Calibration, ADeviceWithoutMatrixProductsKeepsTheDefault) {
  FakeRuntime runtime(R"({"devices": 1, "deny": "matmul", "max_buffer_bytes": 1048576})");
  Device& device = *runtime.devices()[0];
  const DeviceCosts guess = default_costs(device.type());
  const DeviceCosts costs = calibrate(*runtime, device).value();
  EXPECT_TRUE(costs.calibrated);
  EXPECT_EQ(costs.flops_per_us, guess.flops_per_us);
  EXPECT_EQ(costs.link_bytes_per_us, guess.link_bytes_per_us);
  EXPECT_NE(costs.split_ns, guess.split_ns);
}

TEST(Calibration, ALostDeviceIsAnErrorAndKeepsTheGuess) {
  FakeRuntime runtime(R"({"devices": 1, "lose_at_call": 2})");
  EXPECT_FALSE(calibrate(*runtime, *runtime.devices()[0]).ok());
  const std::vector<DeviceCosts> costs = calibrate(*runtime, runtime.devices());
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0], default_costs(runtime.devices()[0]->type()));
}

TEST(Calibration, ASessionInModeCostCalibratesAndRuns) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto random = testing::make_random_graph(4, 30);
  PlanOptions options;
  options.mode = PlacementMode::cost;
  const auto session = Session::prepare(*runtime, random.graph, {}, options).value();
  EXPECT_EQ(session->plan().mode, PlacementMode::cost);
  for (const auto& [name, value] : random.inputs) ASSERT_TRUE(session->set_input(name, value).ok());
  ASSERT_TRUE(session->run().ok());
  options.mode = PlacementMode::greedy;
  const auto other = Session::prepare(*runtime, random.graph, {}, options).value();
  for (const auto& [name, value] : random.inputs) ASSERT_TRUE(other->set_input(name, value).ok());
  ASSERT_TRUE(other->run().ok());
  for (const Graph::Port& port : random.graph->outputs())
    EXPECT_TRUE(std::ranges::equal(session->output(port.name)->bytes(), other->output(port.name)->bytes()));
}

}  // namespace
}  // namespace backplane
