#include "scheduler/placement/greedy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

using Access = Capability::Access;

// A graph, devices that run everything unless they are told not to, and what greedy makes of it. Device `devices` - 1
// is the last.
class Greedy : public ::testing::Test {
 protected:
  static constexpr int64_t kWide = 32768;  // 128 KiB of i32: no tiny weight

  TensorId input(const std::string& name, int64_t width = kWide) {
    return builder.input(name, DType::kI32, std::vector<int64_t>{width}).value();
  }
  TensorId weight(const std::string& name, int64_t width = kWide) {
    return builder.constant(HostTensor::zeros(DType::kI32, {width}).value(), name).value();
  }
  TensorId state(const std::string& name) {
    return builder.state(name, DType::kI32, std::vector<int64_t>{kWide}).value();
  }
  TensorId node(const std::string& name, Op op, std::vector<TensorId> inputs) {
    const AttrList attrs = op == Op::kCONCAT ? AttrList{{BP_ATTR_AXIS, int64_t{0}}} : AttrList{};
    return builder.op(op, inputs, attrs, name).value();
  }
  TensorId write(const std::string& name, TensorId target, TensorId value) {
    return builder.node_into(target, Op::kCOPY, std::vector<TensorId>{value}, {}, name).value();
  }
  void locate(const std::string& name, uint32_t device) { places.emplace_back(name, device); }

  void finish(TensorId output, uint32_t devices) {
    ASSERT_TRUE(builder.output(output, "output").ok());
    graph = builder.finish().value();
    answers.assign(devices, NodeAnswers(graph->node_count(), BP_VERDICT_YES));
    access.assign(devices, std::vector<Access>(devices, Access::none));
    for (uint32_t device = 0; device < devices; ++device) access[device][device] = Access::write;
  }
  NodeId find(const std::string& name) const {
    for (NodeId node = 0; node < graph->node_count(); ++node)
      if (graph->node_name(node) == name) return node;
    ADD_FAILURE() << "no node " << name;
    return 0;
  }
  TensorId tensor(const std::string& name) const {
    for (TensorId id = 0; id < graph->tensor_count(); ++id)
      if (graph->tensor_name(id) == name) return id;
    return kNone;
  }
  void answer(const std::string& name, uint32_t device, uint32_t verdict) { answers[device].set(find(name), verdict); }
  void exclude(uint32_t device) { answers[device] = {}; }

  Placement place(const std::string& name) {
    std::vector<uint32_t> located(graph->storage_count(), kNone);
    for (const auto& [place_name, device] : places) located[graph->storage_of(tensor(place_name))] = device;
    const std::vector<Device*> devices(answers.size(), nullptr);
    const Capability capability(answers, access);
    const auto placements = place_greedy({*graph, capability, devices, options, located}).value();
    return placements[find(name)];
  }

  GraphBuilder builder;
  PlanOptions options;
  std::shared_ptr<const Graph> graph;
  std::vector<NodeAnswers> answers;
  std::vector<std::vector<Access>> access;
  std::vector<std::pair<std::string, uint32_t>> places;
};

TEST_F(Greedy, AWeightPullsItsReaderToItsDevice) {
  finish(node("y", Op::kADD, {input("x"), weight("w")}), 3);
  locate("w", 1);
  const Placement placement = place("y");
  EXPECT_EQ(placement.device, 1u);
  EXPECT_EQ(placement.cause, Cause::weight);
  EXPECT_EQ(placement.because, tensor("w"));
  EXPECT_EQ(placement.verdict, BP_VERDICT_YES);
}

TEST_F(Greedy, AWeightGoesToTheFirstDeviceThatReadsItsMemory) {
  finish(node("y", Op::kADD, {input("x"), weight("w")}), 3);
  locate("w", 1);
  access[0][1] = Access::read;
  EXPECT_EQ(place("y").device, 0u);
  answer("y", 0, BP_VERDICT_NO);
  EXPECT_EQ(place("y").device, 1u);
}

TEST_F(Greedy, TheLargestLocatedWeightDecides) {
  finish(node("y", Op::kCONCAT, {weight("small"), weight("large", 2 * kWide)}), 3);
  locate("small", 0);
  locate("large", 1);
  EXPECT_EQ(place("y").device, 1u);
  answer("y", 1, BP_VERDICT_NO);
  EXPECT_EQ(place("y").device, 0u);
}

TEST_F(Greedy, AWeightWithoutLocationPullsToTheFirstRunner) {
  finish(node("y", Op::kADD, {input("x"), weight("w")}), 3);
  answer("y", 0, BP_VERDICT_NO);
  EXPECT_EQ(place("y").device, 1u);
  EXPECT_EQ(place("y").cause, Cause::weight);
}

// 64 KiB and an eighth of the activations are the limits.
TEST_F(Greedy, ATinyWeightDoesNotPull) {
  const TensorId x = input("x", 4 * 16384);
  TensorId w = weight("w", 16384);
  w = builder.broadcast(builder.reshape(w, std::vector<int64_t>{1, 16384}).value(), std::vector<int64_t>{4, 16384})
          .value();
  const TensorId a = node("a", Op::kADD, {builder.reshape(x, std::vector<int64_t>{4, 16384}).value(), w});
  finish(node("b", Op::kNEG, {a}), 3);
  locate("w", 1);
  EXPECT_EQ(place("a").cause, Cause::most_inputs);
  EXPECT_EQ(place("a").device, 2u);
  options.soft_weights = false;
  EXPECT_EQ(place("a").device, 1u);
}

TEST_F(Greedy, ASmallWeightAmongSmallActivationsPulls) {
  finish(node("y", Op::kADD, {input("x", 16), weight("w", 16)}), 3);
  locate("w", 1);
  EXPECT_EQ(place("y").device, 1u);
}

TEST_F(Greedy, ADeviceThatPrefersANodeTakesItFromTheLast) {
  finish(node("y", Op::kADD, {input("x"), weight("w")}), 3);
  locate("w", 2);
  EXPECT_EQ(place("y").device, 2u);
  answer("y", 1, BP_VERDICT_PREFERRED);
  EXPECT_EQ(place("y").device, 1u);
  EXPECT_EQ(place("y").cause, Cause::offload);
  EXPECT_EQ(place("y").because, tensor("w"));
  EXPECT_EQ(place("y").verdict, BP_VERDICT_PREFERRED);
  options.offload_ratio = 0;
  EXPECT_EQ(place("y").device, 2u);
}

TEST_F(Greedy, OffloadIsLimitedByTheRatio) {
  const TensorId part = builder.slice(weight("w"), 0, 0, 16).value();
  finish(node("y", Op::kCONCAT, {input("x", 1), part}), 2);
  locate("w", 1);
  answer("y", 0, BP_VERDICT_PREFERRED);
  options.soft_weights = false;
  const uint64_t activations = 4 + 17 * 4;
  options.offload_ratio = 4 * kWide / activations;
  EXPECT_EQ(place("y").cause, Cause::weight);
  options.offload_ratio += 1;
  EXPECT_EQ(place("y").cause, Cause::offload);
}

TEST_F(Greedy, NoOffloadFromADeviceThatIsNotTheLast) {
  finish(node("y", Op::kADD, {input("x"), weight("w")}), 3);
  locate("w", 1);
  answer("y", 0, BP_VERDICT_PREFERRED);
  EXPECT_EQ(place("y").device, 1u);
}

TEST_F(Greedy, ALocatedStorageDecidesWhereItIsWritten) {
  const TensorId value = node("value", Op::kADD, {input("x"), weight("w")});
  finish(node("read", Op::kNEG, {write("write", state("s"), value)}), 3);
  locate("w", 0);
  locate("s", 1);
  EXPECT_EQ(place("value").device, 0u);
  EXPECT_EQ(place("write").device, 1u);
  EXPECT_EQ(place("write").cause, Cause::location);
  EXPECT_EQ(place("write").because, tensor("s"));
  EXPECT_EQ(place("read").device, 1u);
}

TEST_F(Greedy, AWriterThatNoDeviceOfThatMemoryRunsGoesWithTheOthers) {
  const TensorId value = node("value", Op::kADD, {input("x"), weight("w")});
  finish(node("read", Op::kNEG, {write("write", state("s"), value)}), 3);
  locate("w", 0);
  locate("s", 1);
  answer("write", 1, BP_VERDICT_NO);
  EXPECT_EQ(place("write").device, 0u);
  EXPECT_EQ(place("write").cause, Cause::expand_down);
  access[2][1] = Access::write;
  EXPECT_EQ(place("write").device, 2u);
  access[2][1] = Access::read;
  EXPECT_EQ(place("write").device, 0u);
}

TEST_F(Greedy, WritersOfOneStateFollowTheFirst) {
  const TensorId s = state("s");
  write("first", s, node("a", Op::kADD, {input("x"), weight("w")}));
  finish(write("second", s, node("b", Op::kADD, {input("z"), weight("v")})), 3);
  locate("w", 1);
  locate("v", 0);
  EXPECT_EQ(place("first").device, 1u);
  EXPECT_EQ(place("b").device, 0u);
  EXPECT_EQ(place("second").device, 1u);
  EXPECT_EQ(place("second").cause, Cause::location);
  answer("second", 1, BP_VERDICT_NO);
  EXPECT_EQ(place("second").device, 0u);  // and is written back
}

TEST_F(Greedy, PinsHoldAgainstLocationsWeightsAndUpgrades) {
  const TensorId value = node("value", Op::kADD, {input("x"), weight("w")});
  finish(node("read", Op::kNEG, {write("write", state("s"), value)}), 3);
  locate("w", 0);
  locate("s", 0);
  for (uint32_t a = 0; a < 3; ++a)
    for (uint32_t b = 0; b < 3; ++b) access[a][b] = Access::write;
  options.pins = {{"value", 1}, {"write", 2}, {"read", 1}};
  EXPECT_EQ(place("value").device, 1u);
  EXPECT_EQ(place("write").device, 2u);
  EXPECT_EQ(place("read").device, 1u);
  EXPECT_EQ(place("read").cause, Cause::pin);
}

TEST_F(Greedy, ExpandNamesTheNeighbour) {
  const TensorId before = node("before", Op::kNEG, {input("x")});
  const TensorId middle = node("middle", Op::kADD, {before, weight("w")});
  finish(node("after", Op::kNEG, {middle}), 2);
  locate("w", 0);
  EXPECT_EQ(place("before").cause, Cause::expand_up);
  EXPECT_EQ(place("before").because, find("middle"));
  EXPECT_EQ(place("after").cause, Cause::expand_down);
  EXPECT_EQ(place("after").because, find("middle"));
}

TEST_F(Greedy, ANodeIsUpgradedToAHigherDeviceOfTheSameMemory) {
  const TensorId middle = node("middle", Op::kADD, {input("x"), weight("w")});
  finish(node("after", Op::kNEG, {middle}), 3);
  locate("w", 1);
  answer("middle", 0, BP_VERDICT_NO);
  EXPECT_EQ(place("after").device, 1u);
  access[0][1] = access[1][0] = Access::write;
  EXPECT_EQ(place("after").device, 0u);
  EXPECT_EQ(place("after").cause, Cause::upgrade);
}

// Neither neighbour in the list takes y, which reads two small results of device 0 and a large one of device 1.
TEST_F(Greedy, TheMostInputBytesDecideNotTheMostInputs) {
  const TensorId small = node("small", Op::kNEG, {input("a", 16)});
  const TensorId other = node("other", Op::kNEG, {input("b", 16)});
  const TensorId large = node("large", Op::kNEG, {input("c")});
  const TensorId apart = node("apart", Op::kNEG, {input("d")});
  ASSERT_TRUE(builder.output(apart, "apart").ok());
  finish(node("y", Op::kCONCAT, {small, other, large}), 4);
  options.pins = {{"small", 0}, {"other", 0}, {"large", 1}, {"apart", 3}};
  answer("y", 3, BP_VERDICT_NO);
  EXPECT_EQ(place("y").device, 1u);
  EXPECT_EQ(place("y").cause, Cause::most_inputs);
}

TEST_F(Greedy, ExcludedDevicesGetNothing) {
  const TensorId middle = node("middle", Op::kADD, {input("x"), weight("w")});
  finish(node("after", Op::kNEG, {middle}), 3);
  exclude(0);
  EXPECT_EQ(place("middle").device, 1u);
  EXPECT_EQ(place("after").device, 1u);
  exclude(2);
  locate("w", 0);
  EXPECT_EQ(place("middle").device, 1u);
}

}  // namespace
}  // namespace backplane
