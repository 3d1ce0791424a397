#include "backplane/runtime/device_graph.hpp"

#include <gtest/gtest.h>

#include "backplane/graph/builder.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

HostTensor row(std::vector<int32_t> values) {
  return HostTensor::of<int32_t>(DType::kI32, {static_cast<int64_t>(values.size())}, values);
}

std::vector<int32_t> values(const DeviceGraph& graph, TensorId id) {
  const HostTensor tensor = graph.tensor(id).value().read().value();
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.elements()};
}

Status run(const DeviceGraph& graph, const Subgraph& part) {
  BP_TRY_ASSIGN(Stream stream, graph.device().create_stream());
  BP_TRY(stream.submit(part.abi(), 0));
  return stream.synchronize();
}

// sum += x * weight, with `sum` a state and y = sum in reverse order of halves.
std::shared_ptr<const Graph> make_counter() {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{4}).value();
  const TensorId weight = builder.constant(row({1, 2, 3, 4}), "weight").value();
  const TensorId sum = builder.state("sum", DType::kI32, std::vector<int64_t>{4}).value();
  const TensorId product = builder.op(Op::kMUL, {x, weight}).value();
  const TensorId total = builder.op(Op::kADD, {sum, product}).value();
  EXPECT_TRUE(builder.output(total, "y").ok());
  const TensorId low = builder.slice(sum, 0, 0, 2).value(), high = builder.slice(total, 0, 2, 2).value();
  EXPECT_TRUE(builder.node_into(low, Op::kADD, std::vector<TensorId>{high, high}).ok());
  return builder.finish().value();
}

TEST(DeviceGraph, UploadsConstantsClearsStatesAndRuns) {
  FakeRuntime runtime("{}");
  const auto graph = make_counter();
  const DeviceGraph made = DeviceGraph::make(graph, *runtime.devices()[0]).value();
  ASSERT_TRUE(made.tensor(graph->inputs()[0].tensor).value().write(row({1, 1, 1, 1})).ok());
  ASSERT_TRUE(run(made, made.whole()).ok());
  EXPECT_EQ(values(made, graph->find_output("y")->tensor), (std::vector<int32_t>{1, 2, 3, 4}));
  ASSERT_TRUE(run(made, made.whole()).ok());
  EXPECT_EQ(values(made, graph->find_output("y")->tensor), (std::vector<int32_t>{7, 10, 3, 4})) << "the state stays";
}

TEST(DeviceGraph, CopiesEveryValueToAnotherDevice) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto graph = make_counter();
  const DeviceGraph first = DeviceGraph::make(graph, *runtime.devices()[0]).value();
  ASSERT_TRUE(first.tensor(graph->inputs()[0].tensor).value().write(row({1, 1, 1, 1})).ok());
  ASSERT_TRUE(run(first, first.whole()).ok());
  const DeviceGraph second = first.copy_to(*runtime.devices()[1]).value();
  EXPECT_EQ(&second.device(), runtime.devices()[1]);
  for (TensorId id = 0; id < graph->tensor_count(); ++id) EXPECT_EQ(values(second, id), values(first, id)) << id;
  ASSERT_TRUE(run(second, second.whole()).ok());
  EXPECT_EQ(values(second, graph->find_output("y")->tensor), (std::vector<int32_t>{7, 10, 3, 4}));
  EXPECT_EQ(values(first, graph->find_output("y")->tensor), (std::vector<int32_t>{1, 2, 3, 4})) << "not touched";
}

TEST(DeviceGraph, RunsNodesOneByOneInChunkedMemory) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const testing::RandomGraph random = testing::make_random_graph(seed, 30);
    uint64_t largest = 64;  // chunks are no larger than they must be
    for (StorageId storage = 0; storage < random.graph->storage_count(); ++storage)
      largest = std::max(largest, (random.graph->storage(storage).bytes + 63) / 64 * 64);
    FakeRuntime runtime(R"({"devices": 2, "max_buffer_bytes": )" + std::to_string(largest) + "}");
    const DeviceGraph whole = DeviceGraph::make(random.graph, *runtime.devices()[0]).value();
    const DeviceGraph parts = DeviceGraph::make(random.graph, *runtime.devices()[1]).value();
    for (const DeviceGraph* made : {&whole, &parts})
      for (const Graph::Port& port : random.graph->inputs())
        ASSERT_TRUE(made->tensor(port.tensor).value().write(random.inputs.at(port.name)).ok());
    ASSERT_TRUE(run(whole, whole.whole()).ok());
    for (NodeId node = 0; node < random.graph->node_count(); ++node)
      ASSERT_TRUE(run(parts, parts.part({&node, 1})).ok());
    for (const Graph::Port& port : random.graph->outputs())
      EXPECT_EQ(values(parts, port.tensor), values(whole, port.tensor)) << "seed " << seed << ' ' << port.name;
  }
}

TEST(DeviceGraph, ReportsWhatDoesNotFit) {
  GraphBuilder builder;
  const TensorId x = builder.input("wide", DType::kI32, std::vector<int64_t>{100}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {x, x}).value(), "y").ok());
  const auto graph = builder.finish().value();
  FakeRuntime small(R"({"max_buffer_bytes": 256})"), full(R"({"memory_limit_bytes": 700})");
  const Status status = DeviceGraph::make(graph, *small.devices()[0]).status();
  EXPECT_EQ(status.code(), Code::resource_exhausted);
  EXPECT_NE(status.message().find("wide"), std::string::npos) << status.message();
  EXPECT_EQ(DeviceGraph::make(graph, *full.devices()[0]).status().code(), Code::resource_exhausted);
  EXPECT_EQ(full.devices()[0]->memory().value().used.value(), 0u);
  EXPECT_EQ(DeviceGraph::make(nullptr, *small.devices()[0]).status().code(), Code::invalid_argument);
  FakeRuntime enough("{}");
  const DeviceGraph made = DeviceGraph::make(graph, *enough.devices()[0]).value();
  EXPECT_EQ(made.tensor(graph->tensor_count()).status().code(), Code::out_of_range);
}

}  // namespace
}  // namespace backplane
