#include "backplane/runtime/device_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "backplane/graph/builder.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

HostTensor row(std::vector<float> values) {
  return HostTensor::of<float>(DType::kF32, {static_cast<int64_t>(values.size())}, values);
}

// x+x -> *x -> -x -> /x
struct Chain {
  std::shared_ptr<const Graph> graph;
  std::map<std::string, HostTensor> inputs;
};

Chain make_chain(std::vector<float> value = {1, 2, 3, 4}) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, std::vector<int64_t>{static_cast<int64_t>(value.size())}).value();
  TensorId y = x;
  for (const Op op : {Op::kADD, Op::kMUL, Op::kSUB, Op::kDIV}) y = builder.op(op, {y, x}).value();
  EXPECT_TRUE(builder.output(y, "y").ok());
  return {builder.finish().value(), {{"x", row(std::move(value))}}};
}

constexpr Tolerance kExact = {0, 0};

// Counts submissions of the device under test and spoils one: the first byte of each tensor that it writes.
struct Spoiler {
  const bp_stream_i* streams = nullptr;
  const bp_buffer_i* buffers = nullptr;
  int calls_left = 0;
};
Spoiler spoiler;

bp_code BP_CALL spoil(bp_stream* stream, const bp_submit_desc* work, bp_error* error) {
  const bp_code code = spoiler.streams->submit(stream, work, error);
  if (code != BP_OK || --spoiler.calls_left != 0) return code;
  for (uint32_t i = 0; i < work->graph->out_count; ++i) {
    const bp_tensor& tensor = *bp_tensor_at(work->graph, work->graph->u32[work->graph->out_at + i]);
    uint8_t byte = 0;
    if (spoiler.buffers->read(tensor.buffer, tensor.offset, &byte, 1, error) != BP_OK) return BP_E_INTERNAL;
    byte ^= 1;
    if (spoiler.buffers->write(tensor.buffer, tensor.offset, &byte, 1, error) != BP_OK) return BP_E_INTERNAL;
  }
  return code;
}

// The second device of a runtime, with the k-th submission going wrong.
class WrongDevice {
 public:
  WrongDevice(FakeRuntime& runtime, int call) {
    const Device& real = *runtime.devices()[1];
    bp_opened tables = real.tables();
    streams_ = *tables.stream_i;
    streams_.submit = spoil;
    spoiler = {tables.stream_i, tables.buffer_i, call};
    tables.stream_i = &streams_;
    device_ = Device::make(tables, real.handle(), "org.test.wrong", 0).value();
  }
  Device& operator*() { return *device_; }

 private:
  bp_stream_i streams_;
  std::unique_ptr<Device> device_;
};

Result<DeviceComparison> compare(FakeRuntime& runtime, Device& second, const Chain& chain,
                                 const DeviceComparisonOptions& options = {},
                                 const ComparisonObserver& observer = nullptr) {
  return compare_devices(chain.graph, *runtime.devices()[0], second, chain.inputs, options, observer);
}

Result<DeviceComparison> compare(FakeRuntime& runtime, const Chain& chain, const DeviceComparisonOptions& options = {},
                                 const ComparisonObserver& observer = nullptr) {
  return compare(runtime, *runtime.devices()[1], chain, options, observer);
}

TEST(CompareDevices, ShowsEveryNodeOfEqualDevices) {
  FakeRuntime runtime(R"({"devices": 2, "async": true})");
  std::vector<NodeId> seen;
  std::vector<float> last;
  const DeviceComparison found =
      compare(runtime, make_chain(), {kExact, false, {}}, [&](const NodeComparison& comparison) {
        seen.push_back(comparison.node);
        EXPECT_EQ(comparison.difference.elements, 4);
        const HostTensor &a = comparison.first, &b = comparison.second;
        EXPECT_TRUE(std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end()));
        last.assign(a.data<float>(), a.data<float>() + 4);
        return true;
      }).value();
  EXPECT_EQ(seen, (std::vector<NodeId>{0, 1, 2, 3}));
  EXPECT_EQ(last, (std::vector<float>{1, 3, 5, 7}));
  EXPECT_EQ(found.compared_nodes, 4u);
  EXPECT_TRUE(found.fits() && found.skipped.empty() && !found.stopped);
}

TEST(CompareDevices, BlamesOnlyTheNodeThatIsWrong) {
  FakeRuntime runtime(R"({"devices": 2})");
  WrongDevice wrong(runtime, 2);
  const DeviceComparison found = compare(runtime, *wrong, make_chain(), {kExact, false, {}}).value();
  EXPECT_EQ(found.differing, (std::vector<NodeId>{1}));
}

TEST(CompareDevices, LetsDifferencesPileUpIfAsked) {
  FakeRuntime runtime(R"({"devices": 2})");
  WrongDevice wrong(runtime, 2);
  const DeviceComparison found = compare(runtime, *wrong, make_chain(), {kExact, true, {}}).value();
  EXPECT_EQ(found.differing, (std::vector<NodeId>{1, 2, 3}));
}

TEST(CompareDevices, TheObserverSeesTheDifferenceAndMayStop) {
  FakeRuntime runtime(R"({"devices": 2})");
  WrongDevice wrong(runtime, 2);
  uint32_t calls = 0;
  const DeviceComparison found =
      compare(runtime, *wrong, make_chain(), {kExact, false, {}}, [&](const NodeComparison& comparison) {
        ++calls;
        if (comparison.difference.fits()) return true;
        EXPECT_EQ(comparison.difference.mismatches, 1);
        EXPECT_EQ(comparison.difference.first_mismatch, 0);
        EXPECT_GT(comparison.difference.max_absolute, 0);
        EXPECT_EQ(comparison.difference.expected, 2);
        return false;
      }).value();
  EXPECT_EQ(calls, 2u);
  EXPECT_TRUE(found.stopped);
  EXPECT_EQ(found.differing, (std::vector<NodeId>{1}));
}

TEST(CompareDevices, NanEqualsNan) {
  FakeRuntime runtime(R"({"devices": 2})");
  const DeviceComparison found = compare(runtime, make_chain({0, 1, INFINITY, NAN}), {kExact, false, {}}).value();
  EXPECT_TRUE(found.fits());
}

TEST(CompareDevices, ComparesOnlyTheNodesAskedFor) {
  FakeRuntime runtime(R"({"devices": 2})");
  WrongDevice wrong(runtime, 2);
  EXPECT_EQ(compare(runtime, *wrong, make_chain(), {kExact, false, {0, 3}}).value().compared_nodes, 2u);
  WrongDevice other(runtime, 2);
  EXPECT_EQ(compare(runtime, *other, make_chain(), {kExact, true, {0, 3}}).value().differing, (std::vector<NodeId>{3}));
  EXPECT_EQ(compare(runtime, *other, make_chain(), {kExact, true, {4}}).status().code(), Code::invalid_argument);
}

// Each of the two devices runs every other node: nothing can be compared, and all values are still right.
TEST(CompareDevices, SaysWhichDeviceDoesNotRunANode) {
  FakeRuntime runtime(R"({"devices": 2, "supports": "alternate"})");
  const DeviceComparison found = compare(runtime, make_chain()).value();
  EXPECT_EQ(found.compared_nodes, 0u);
  ASSERT_EQ(found.skipped.size(), 4u);
  EXPECT_NE(found.skipped[0].reason.find(runtime.devices()[1]->name()), std::string::npos) << found.skipped[0].reason;
  EXPECT_NE(found.skipped[1].reason.find(runtime.devices()[0]->name()), std::string::npos) << found.skipped[1].reason;
}

TEST(CompareDevices, SkipsWhatDependsOnANodeThatNobodyRuns) {
  FakeRuntime runtime(R"({"devices": 2, "deny": "mul"})");
  const DeviceComparison found = compare(runtime, make_chain()).value();
  EXPECT_EQ(found.compared_nodes, 1u);
  ASSERT_EQ(found.skipped.size(), 3u);
  EXPECT_NE(found.skipped[0].reason.find("deny"), std::string::npos) << found.skipped[0].reason;
  EXPECT_NE(found.skipped[1].reason.find("no device computed"), std::string::npos) << found.skipped[1].reason;
  EXPECT_EQ(compare(runtime, make_chain(), {kExact, false, {0, 1}}).value().skipped.size(), 1u);
}

TEST(CompareDevices, ARefusalGoesOnAndAFailureEnds) {
  FakeRuntime refusing(R"({"devices": 2, "fault_device": 1, "fail_at_call": 2, "fail_code": -3})");
  const DeviceComparison found = compare(refusing, make_chain(), {kExact, false, {}}).value();
  EXPECT_EQ(found.compared_nodes, 3u);
  ASSERT_EQ(found.skipped.size(), 1u);
  EXPECT_EQ(found.skipped[0].node, 1u);
  EXPECT_TRUE(found.fits()) << "the second device went on with the first one's result";
  FakeRuntime lost(R"({"devices": 2, "fault_device": 1, "lose_at_call": 2})");
  const Status status = compare(lost, make_chain()).status();
  EXPECT_EQ(status.code(), Code::unavailable) << status.to_string();
  EXPECT_NE(status.message().find("node 1 (mul)"), std::string::npos) << status.message();
}

TEST(CompareDevices, AgreesOnRandomGraphs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const testing::RandomGraph random = testing::make_random_graph(seed, 30);
    FakeRuntime runtime(R"({"devices": 2, "memory": "host"})");
    const DeviceComparison found = compare(runtime, {random.graph, random.inputs}, {kExact, seed % 2 == 0, {}}).value();
    EXPECT_TRUE(found.fits()) << seed;
    EXPECT_EQ(found.compared_nodes, random.graph->node_count()) << seed;
  }
}

TEST(CompareDevices, ChecksItsArguments) {
  FakeRuntime runtime(R"({"devices": 2})");
  Chain chain = make_chain();
  chain.inputs["z"] = row({1});
  EXPECT_EQ(compare(runtime, chain).status().code(), Code::not_found);
  chain.inputs = {{"x", row({1, 2})}};
  EXPECT_EQ(compare(runtime, chain).status().code(), Code::invalid_argument);
  chain.inputs.clear();
  const Status missing = compare(runtime, chain).status();
  EXPECT_EQ(missing.code(), Code::failed_precondition);
  EXPECT_NE(missing.message().find("x: f32 [4]"), std::string::npos) << missing.message();
  chain.graph = nullptr;
  EXPECT_EQ(compare(runtime, chain).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace backplane
