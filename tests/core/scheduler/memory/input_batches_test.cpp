// Small graph inputs that go to one device before one split are one transfer.
#include <gtest/gtest.h>

#include <algorithm>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/session.hpp"
#include "fake_device.hpp"
#include "fake_runtime.hpp"

namespace backplane {
namespace {

using testing::fake_counters;
using testing::FakeRuntime;

std::string input_name(int i) { return "in" + std::to_string(i); }
std::vector<int64_t> input_shape(int i) { return {1 + i % 3, 5}; }

// y = ((in0 - in1) - in2) - ..., of inputs of different sizes, each the sum of its rows.
std::shared_ptr<const Graph> differences(int count) {
  GraphBuilder builder;
  TensorId y = kNone;
  for (int i = 0; i < count; ++i) {
    const TensorId x = builder.input(input_name(i), DType::kI32, input_shape(i)).value();
    const TensorId sum = builder.op(Op::kREDUCE_SUM, {x}, {{BP_ATTR_AXES, std::vector<int64_t>{0}}}).value();
    y = y == kNone ? sum : builder.op(Op::kSUB, {y, sum}, {}, "minus" + std::to_string(i)).value();
  }
  EXPECT_TRUE(builder.output(y, "y").ok());
  return builder.finish().value();
}

int32_t value_of(int i, int32_t run) { return 10 * i + run; }

int32_t expected(int count, int32_t run) {
  int32_t y = value_of(0, run);
  for (int i = 1; i < count; ++i) y -= value_of(i, run) * (1 + i % 3);
  return y;
}

void expect_right(Session& session, int count, int32_t run) {
  for (int i = 0; i < count; ++i) {
    HostTensor x = HostTensor::zeros(DType::kI32, input_shape(i)).value();
    std::fill_n(x.mutable_data<int32_t>(), x.elements(), value_of(i, run));
    ASSERT_TRUE(session.set_input(input_name(i), x).ok());
  }
  const Status status = session.run();
  ASSERT_TRUE(status.ok()) << status.to_string();
  for (int k = 0; k < 5; ++k) EXPECT_EQ(session.output("y")->data<int32_t>()[k], expected(count, run));
}

uint64_t transfers(const Plan& plan) {
  return static_cast<uint64_t>(std::ranges::count_if(plan.tasks, &Task::is_copy));
}

TEST(InputBatches, AreOneTransferForEachDevice) {
  for (const char* world :
       {R"({"devices": 2, "1-memory": "host", "1-deny": "*"})", R"({"devices": 2, "1-deny": "*", "peer_copy": false})",
        R"({"devices": 2, "1-deny": "*", "0-async": true, "max_delay_us": 20})",
        R"({"devices": 2, "1-deny": "*", "0-alignment": 256, "0-async": true})"}) {
    SCOPED_TRACE(world);
    FakeRuntime runtime(world);
    constexpr int kInputs = 7;
    SessionOptions options;
    options.pipeline_depth = 2;
    options.check_races = true;
    const auto session = Session::prepare(*runtime, differences(kInputs), {}, options).value();
    ASSERT_EQ(session->plan().copies.size(), 7u);
    EXPECT_EQ(transfers(session->plan()), 1u);
    testing::reset_fakes(runtime.devices());
    for (int32_t run = 0; run < 5; ++run) expect_right(*session, kInputs, run);
    const bp_fake_counters counters = fake_counters(*runtime.devices()[0]);
    EXPECT_EQ(counters.calls[BP_FAKE_COPY] + counters.calls[BP_FAKE_WRITE], 5u);
  }
}

// Inputs of one device alone lie apart from those of another, which are one transfer too; one that both read has a
// place beside those of the first.
TEST(InputBatches, OfTwoDevices) {
  FakeRuntime runtime(R"({"devices": 3, "2-deny": "*", "detect_conflicts": true})");
  constexpr int kInputs = 8;
  PlanOptions options;
  for (NodeId node = 0; node < 2 * kInputs - 1; ++node)
    options.pins.emplace_back(std::to_string(node), node < 7 ? 0 : 1);
  const auto session = Session::prepare(*runtime, differences(kInputs), {}, options).value();
  EXPECT_EQ(session->plan().copies.size(), 8u + 1u);  // and what the first gives to the second
  EXPECT_EQ(transfers(session->plan()), 2u + 1u);
  for (int32_t run = 0; run < 3; ++run) expect_right(*session, kInputs, run);
  EXPECT_EQ(testing::fake_conflict(*runtime.devices()[0]), "");
}

TEST(InputBatches, TakeNeitherWhatIsLargeNorWhatIsWritten) {
  FakeRuntime runtime(R"({"devices": 2, "1-deny": "*"})");
  GraphBuilder builder;
  std::vector<TensorId> inputs;
  for (const int64_t columns : {16 * 1024, 16 * 1024 + 1, 1, 0, 1})
    inputs.push_back(
        builder.input(input_name(static_cast<int>(inputs.size())), DType::kI32, std::vector<int64_t>{columns}).value());
  for (const TensorId input : inputs)
    ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {input}).value(), "y" + std::to_string(input)).ok());
  const auto plan = make_plan(builder.finish().value(), runtime.devices()).value();
  std::vector<uint64_t> joined;
  for (const PlannedCopy& copy : plan->copies)
    if (copy.joined) joined.push_back(copy.bytes());
  EXPECT_EQ(joined, (std::vector<uint64_t>{4, 4}));
}

// To find out whether a fault is one of memory, each tensor has its own.
TEST(InputBatches, AreNoneWithoutReuseOfMemory) {
  FakeRuntime runtime(R"({"devices": 2, "1-deny": "*"})");
  PlanOptions options;
  options.reuse_memory = false;
  EXPECT_EQ(transfers(*make_plan(differences(4), runtime.devices(), options).value()), 4u);
}

// Where no buffer takes all of them, there are some of as many as it takes.
TEST(InputBatches, FitTheLargestBuffer) {
  FakeRuntime runtime(R"({"devices": 2, "1-deny": "*", "max_buffer_bytes": 256})");
  const auto session = Session::prepare(*runtime, differences(9), {}, {}).value();
  EXPECT_EQ(transfers(session->plan()), 3u);  // of 3 or 4 inputs of one 64 bytes each
  for (int32_t run = 0; run < 3; ++run) expect_right(*session, 9, run);
}

}  // namespace
}  // namespace backplane
