// Of a weight that is copied anew in each run, only the rows that the run uses are.
#include <gtest/gtest.h>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/session.hpp"
#include "fake_runtime.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

constexpr int64_t kExperts = 8, kColumns = 4;
constexpr uint64_t kRowBytes = kColumns * 4;

// y = experts[ids], experts on device 1, the node on device 0. With `routed`, ids = -(-ids) there too.
std::unique_ptr<Session> prepare(FakeRuntime& runtime, int64_t count, bool routed, uint32_t depth = 1) {
  HostTensor experts = HostTensor::zeros(DType::kI32, {kExperts, kColumns}).value();
  for (int64_t i = 0; i < experts.elements(); ++i) experts.mutable_data<int32_t>()[i] = static_cast<int32_t>(i);
  GraphBuilder builder;
  TensorId ids = builder.input("ids", DType::kI32, std::vector<int64_t>{count}).value();
  const TensorId weight = builder.constant(experts, "experts").value();
  SessionOptions options;
  options.check_races = true;
  options.pipeline_depth = depth;
  options.plan.soft_weights = false;
  options.plan.locations = {{"experts", 1}};
  options.plan.pins = {{"gather", 0}};
  if (routed) {
    ids = builder.op(Op::kNEG, {builder.op(Op::kNEG, {ids}, {}, "router0").value()}, {}, "router1").value();
    options.plan.pins.insert(options.plan.pins.end(), {{"router0", 0}, {"router1", 0}});
  }
  EXPECT_TRUE(
      builder.output(builder.op(Op::kGATHER, {weight, ids}, {{BP_ATTR_AXIS, int64_t{0}}}, "gather").value(), "y").ok());
  return Session::prepare(*runtime, builder.finish().value(), {}, options).value();
}

HostTensor indices(std::vector<int32_t> list) {
  const auto count = static_cast<int64_t>(list.size());
  return HostTensor::of<int32_t>(DType::kI32, {count}, list);
}

class ExpertCopies : public ::testing::TestWithParam<const char*> {};

TEST_P(ExpertCopies, OnlyUsedRowsAreCopied) {
  FakeRuntime runtime(GetParam());
  for (const bool routed : {false, true}) {
    const auto session = prepare(runtime, 3, routed);
    uint64_t ids_bytes = 0;
    for (const PlannedCopy& copy : session->plan().copies)
      if (copy.indices == kNone) ids_bytes += copy.bytes();
    EXPECT_EQ(session->plan().copy_bytes, kExperts * kRowBytes + ids_bytes);
    ASSERT_TRUE(session->set_input("ids", indices({5, 1, 5})).ok());
    const Status status = session->run();
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(session->statistics().copied_bytes, 2 * kRowBytes + ids_bytes);
    const HostTensor y = session->output("y").value();
    for (int64_t i = 0; i < kColumns; ++i) {
      EXPECT_EQ(y.data<int32_t>()[i], 5 * kColumns + i);
      EXPECT_EQ(y.data<int32_t>()[kColumns + i], kColumns + i);
    }
    // Negative indices count from the end.
    ASSERT_TRUE(session->set_input("ids", indices({-1, 7, -8})).ok());
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(session->output("y")->data<int32_t>()[0], 7 * kColumns);
    EXPECT_EQ(session->statistics().copied_bytes, 2 * kRowBytes + ids_bytes);
  }
}

TEST_P(ExpertCopies, NoneUsedIsLegal) {
  FakeRuntime runtime(GetParam());
  const auto session = prepare(runtime, 0, false);
  ASSERT_TRUE(session->set_input("ids", indices({})).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(session->statistics().copied_bytes, 0u);
  EXPECT_EQ(session->output("y")->elements(), 0);
}

TEST_P(ExpertCopies, AnIndexOfNoRowIsAnErrorThatNamesIt) {
  FakeRuntime runtime(GetParam());
  const auto session = prepare(runtime, 2, true);
  for (const int32_t bad : {8, -9, 2000000000}) {
    ASSERT_TRUE(session->set_input("ids", indices({0, bad})).ok());
    const Status status = session->run();
    EXPECT_EQ(status.code(), Code::out_of_range) << status.to_string();
    EXPECT_NE(status.message().find(std::to_string(bad)), std::string::npos) << status.message();
  }
  ASSERT_TRUE(session->set_input("ids", indices({0, 3})).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(session->output("y")->data<int32_t>()[kColumns], 3 * kColumns);
}

TEST_P(ExpertCopies, InAPipelineEachRunHasItsOwnRows) {
  FakeRuntime runtime(GetParam());
  const auto session = prepare(runtime, 1, true, 3);
  std::vector<uint64_t> runs;
  for (int32_t i = 0; i < 12; ++i) {
    if (i >= 3) {
      ASSERT_TRUE(session->wait(runs[static_cast<size_t>(i - 3)]).ok());
      EXPECT_EQ(session->output("y")->data<int32_t>()[0], (i - 3) % kExperts * kColumns);
    }
    ASSERT_TRUE(session->set_input("ids", indices({static_cast<int32_t>(i % kExperts)})).ok());
    runs.push_back(session->submit().value());
  }
  for (size_t i = 9; i < 12; ++i) ASSERT_TRUE(session->wait(runs[i]).ok());
}

INSTANTIATE_TEST_SUITE_P(Scheduler, ExpertCopies,
                         ::testing::Values(R"({"devices": 2})",
                                           R"({"devices": 2, "async": true, "seed": 2, "max_delay_us": 100})",
                                           R"({"devices": 2, "async": true, "events": false, "peer_copy": false})"));

}  // namespace
}  // namespace backplane
