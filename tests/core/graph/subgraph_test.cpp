#include "backplane/graph/subgraph.hpp"

#include <gtest/gtest.h>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

using Shape = std::vector<int64_t>;

std::vector<uint32_t> ins(const bp_graph& graph) {
  return {graph.u32 + graph.in_at, graph.u32 + graph.in_at + graph.in_count};
}
std::vector<uint32_t> outs(const bp_graph& graph) {
  return {graph.u32 + graph.out_at, graph.u32 + graph.out_at + graph.out_count};
}

// x -> relu -> a;  a[1:3] -> exp -> b;  softmax(b) -> c;  a + a -> d;  outputs: c, d
std::shared_ptr<const Graph> make_graph() {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, Shape{4, 2}).value();
  const TensorId a = builder.op(Op::kRELU, {x}, {}, "a").value();
  const TensorId b = builder.op(Op::kEXP, {builder.slice(a, 0, 1, 2).value()}, {}, "b").value();
  const TensorId c = builder.op(Op::kSOFTMAX, {b}, {{BP_ATTR_AXIS, int64_t{1}}}, "c").value();
  const TensorId d = builder.op(Op::kADD, {a, a}, {}, "d").value();
  EXPECT_TRUE(builder.output(c, "c").ok());
  EXPECT_TRUE(builder.output(d, "d").ok());
  return builder.finish().value();
}

TEST(Subgraph, PortsAndLocalIndices) {
  const auto graph = make_graph();
  const NodeId nodes[] = {1, 2};
  Subgraph part(*graph, nodes);
  const bp_graph& abi = part.abi();
  ASSERT_EQ(abi.node_count, 2u);
  ASSERT_EQ(abi.tensor_count, 4u);  // a, its view, b, c
  const TensorId a = graph->node_outputs(0)[0], c = graph->node_outputs(2)[0];
  EXPECT_EQ(ins(abi), std::vector<uint32_t>{part.local(a)});
  EXPECT_EQ(outs(abi), std::vector<uint32_t>{part.local(c)});
  EXPECT_EQ(part.local(graph->find_input("x")->tensor), kNone);
  for (uint32_t i = 0; i < abi.tensor_count; ++i) EXPECT_EQ(part.local(part.tensors()[i]), i);
  const uint32_t view = part.local(graph->node_inputs(1)[0]);
  EXPECT_EQ(bp_tensor_at(&abi, view)->view_of, part.local(a));
  EXPECT_EQ(bp_tensor_at(&abi, view)->offset, 8u);
}

TEST(Subgraph, NodesKeepAttributesAndAreTaggedWithTheGraphsNodes) {
  const auto graph = make_graph();
  const NodeId nodes[] = {2};
  Subgraph part(*graph, nodes);
  const bp_node& node = *bp_node_at(&part.abi(), 0);
  EXPECT_EQ(node.op, uint32_t{BP_OP_SOFTMAX});
  EXPECT_EQ(node.tag, 2u);
  ASSERT_EQ(node.attr_count, 1u);
  const bp_attr& attr = *bp_attr_at(&part.abi(), node.attr_at);
  EXPECT_EQ(attr.key, uint32_t{BP_ATTR_AXIS});
  EXPECT_EQ(attr.i, 1);
}

TEST(Subgraph, TensorsKeepTheirNames) {
  const auto graph = make_graph();
  const NodeId nodes[] = {2};
  Subgraph part(*graph, nodes);
  const bp_tensor& c = *bp_tensor_at(&part.abi(), part.local(graph->find_output("c")->tensor));
  ASSERT_NE(c.name_at, BP_NONE);
  EXPECT_STREQ(part.abi().text + c.name_at, "c");
}

TEST(Subgraph, ATensorThatIsReadOutsideIsAnOutput) {
  const auto graph = make_graph();
  const TensorId a = graph->node_outputs(0)[0];
  const NodeId some[] = {0, 1, 2};  // d, outside, reads a
  Subgraph part(*graph, some);
  EXPECT_EQ(outs(part.abi()), (std::vector<uint32_t>{part.local(a), part.local(graph->node_outputs(2)[0])}));
  const NodeId all[] = {0, 1, 2, 3};
  Subgraph whole(*graph, all);
  EXPECT_EQ(outs(whole.abi()),
            (std::vector<uint32_t>{whole.local(graph->node_outputs(2)[0]), whole.local(graph->node_outputs(3)[0])}));
}

TEST(Subgraph, AWrittenStateIsInputAndOutput) {
  GraphBuilder builder;
  const TensorId cache = builder.state("cache", DType::kF32, Shape{4}).value();
  const TensorId x = builder.input("x", DType::kF32, Shape{2}).value();
  ASSERT_TRUE(builder.node_into(builder.slice(cache, 0, 2, 2).value(), Op::kCOPY, std::vector<TensorId>{x}).ok());
  const auto graph = builder.finish().value();
  const NodeId nodes[] = {0};
  Subgraph part(*graph, nodes);
  const uint32_t root = part.local(graph->storage(graph->storage_of(graph->node_outputs(0)[0])).root);
  ASSERT_NE(root, kNone) << "the root of a view is part of it";
  EXPECT_EQ(ins(part.abi()).size(), 2u);
  EXPECT_EQ(outs(part.abi()), std::vector<uint32_t>{root});
}

TEST(Subgraph, BindingMovesTheViewsAlong) {
  const auto graph = make_graph();
  const NodeId nodes[] = {1};
  Subgraph part(*graph, nodes);
  const uint32_t root = part.local(graph->node_outputs(0)[0]);
  const uint32_t view = part.local(graph->node_inputs(1)[0]);
  auto* buffer = reinterpret_cast<bp_buffer*>(0x1000);
  const uint64_t key = part.abi().key;
  part.bind(root, buffer, 256);
  const bp_graph& abi = part.abi();
  EXPECT_EQ(bp_tensor_at(&abi, root)->offset, 256u);
  EXPECT_EQ(bp_tensor_at(&abi, view)->offset, 264u);
  EXPECT_EQ(bp_tensor_at(&abi, view)->buffer, buffer);
  EXPECT_EQ(bp_tensor_at(&abi, part.local(graph->node_outputs(1)[0]))->buffer, nullptr);
  EXPECT_EQ(abi.key, key);
  part.bind(root, nullptr, 0);
  EXPECT_EQ(bp_tensor_at(&abi, view)->offset, 8u);
  EXPECT_EQ(bp_tensor_at(&abi, view)->buffer, nullptr);
}

TEST(Subgraph, SurvivesMovesAndTheGraph) {
  auto graph = make_graph();
  const NodeId nodes[] = {1, 2};
  Subgraph first(*graph, nodes);
  graph.reset();
  Subgraph second = std::move(first);
  EXPECT_EQ(bp_node_at(&second.abi(), 1)->op, uint32_t{BP_OP_SOFTMAX});
  second.bind(0, reinterpret_cast<bp_buffer*>(0x1000), 64);
  EXPECT_EQ(bp_tensor_at(&second.abi(), 0)->offset, 64u);
}

// Equal layers share programs, wherever they stand in the model.
TEST(Subgraph, EqualPartsHaveEqualKeys) {
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kF32, Shape{4}).value();
  std::vector<TensorId> weights;
  for (int i = 0; i < 3; ++i) weights.push_back(builder.constant(HostTensor::zeros(DType::kF32, {4}).value()).value());
  for (int i = 0; i < 3; ++i) x = builder.op(Op::kADD, {builder.op(Op::kRELU, {x}).value(), weights[2 - i]}).value();
  x = builder.op(Op::kADD, {builder.op(Op::kEXP, {x}).value(), weights[0]}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
  const auto graph = builder.finish().value();
  const auto key = [&](NodeId first) {
    const NodeId nodes[] = {first, first + 1};
    return Subgraph(*graph, nodes).abi().key;
  };
  EXPECT_EQ(key(2), key(4));
  EXPECT_NE(key(2), key(6));
  EXPECT_NE(key(2), key(0)) << "the graph's own input is flagged as one";
}

}  // namespace
}  // namespace backplane
