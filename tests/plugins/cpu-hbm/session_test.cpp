// Sessions on hbm0 and cpu0 as they are installed: nothing is copied between them, weights lie where they are put, and
// what has no room in high-bandwidth memory is run by cpu0.

#include "backplane/scheduler/session.hpp"

#include <gtest/gtest.h>

#include "backplane/graph/builder.hpp"

namespace backplane {
namespace {

constexpr const char* kHbm = "org.backplane.cpu-hbm";
constexpr int64_t kWidth = 256;
constexpr uint64_t kWeightBytes = kWidth * kWidth * sizeof(float);
constexpr int kLayers = 6;

std::unique_ptr<Runtime> open_runtime(int64_t limit_bytes = 0) {
  RuntimeOptions options;
  options.plugin_paths = {BACKPLANE_TEST_PLUGINS};
  options.search_system = false;
  options.plugin_options[kHbm] = Json::object({{"limit_bytes", Json::integer(limit_bytes)}});
  return Runtime::open(std::move(options)).value();
}

// y = 2^kLayers * x: layers l0, l1, ... of one product each, with weights w0, w1, ... of their own.
std::shared_ptr<const Graph> layers() {
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kF32, std::vector<int64_t>{4, kWidth}).value();
  for (int i = 0; i < kLayers; ++i) {
    HostTensor weight = HostTensor::zeros(DType::kF32, {kWidth, kWidth}).value();
    for (int64_t j = 0; j < kWidth; ++j) weight.mutable_data<float>()[j * kWidth + j] = 2;
    const TensorId w = builder.constant(weight, "w" + std::to_string(i)).value();
    x = builder.op(Op::kMATMUL, {x, w}, {}, "l" + std::to_string(i)).value();
  }
  EXPECT_TRUE(builder.output(x, "y").ok());
  return builder.finish().value();
}

class HbmSession : public ::testing::Test {
 protected:
  // Devices 0 and 1 of every session: hbm0, cpu0.
  void prepare(const PlanOptions& plan, int64_t limit_bytes = 0) {
    session_.reset();
    runtime_ = open_runtime(limit_bytes);
    hbm_ = runtime_->device("hbm0").value();
    session_ = Session::prepare(*runtime_, layers(), {hbm_, runtime_->device("cpu0").value()}, plan).value();
  }
  void expect_right_result() {
    HostTensor x = HostTensor::zeros(DType::kF32, {4, kWidth}).value();
    for (int64_t i = 0; i < x.elements(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
    ASSERT_TRUE(session_->set_input("x", x).ok());
    const Status status = session_->run();
    ASSERT_TRUE(status.ok()) << status.to_string();
    const HostTensor y = session_->output("y").value();
    for (int64_t i = 0; i < y.elements(); ++i) ASSERT_EQ(y.data<float>()[i], static_cast<float>(i << kLayers)) << i;
    EXPECT_EQ(session_->statistics().copied_bytes, 0u);
    EXPECT_EQ(session_->statistics().copy_count, 0u);
  }
  static PlanOptions pinned(uint32_t even, uint32_t odd) {
    PlanOptions plan;
    for (int i = 0; i < kLayers; ++i) plan.pins.emplace_back("l" + std::to_string(i), i % 2 == 0 ? even : odd);
    return plan;
  }
  uint64_t used() const { return hbm_->memory().value().used.value(); }

  std::unique_ptr<Runtime> runtime_;
  Device* hbm_ = nullptr;
  std::unique_ptr<Session> session_;
};

TEST_F(HbmSession, MixedWithTheProcessorNothingIsCopied) {
  prepare(pinned(0, 1));
  expect_right_result();
  EXPECT_EQ(session_->statistics().split_count, static_cast<uint32_t>(kLayers));
  prepare(pinned(1, 0));
  expect_right_result();
  EXPECT_TRUE(session_->incidents().empty());
}

TEST_F(HbmSession, WeightsArePutThereForTheProcessorToReadInPlace) {
  PlanOptions plan = pinned(1, 1);
  prepare(plan);
  EXPECT_LT(used(), kWeightBytes) << "nobody asked for it";
  plan.weights_device = 0;
  prepare(plan);
  EXPECT_GE(used(), kLayers * kWeightBytes);
  expect_right_result();
  EXPECT_EQ(session_->statistics().split_count, 1u);
  session_.reset();
  EXPECT_EQ(used(), 0u);
}

TEST_F(HbmSession, WhatItComputesWithLiesThere) {
  prepare(pinned(0, 0));
  EXPECT_GE(used(), kLayers * kWeightBytes);
  expect_right_result();
}

TEST_F(HbmSession, WhatHasNoRoomGoesToTheProcessorAndIsReported) {
  for (const int64_t limit : {int64_t{1}, static_cast<int64_t>(3 * kWeightBytes)}) {
    prepare({}, limit);
    expect_right_result();
    for (const Placement& placement : session_->plan().placements) EXPECT_EQ(placement.device, 1u);
    ASSERT_EQ(session_->incidents().size(), 1u);
    EXPECT_NE(session_->incidents()[0].find("hbm0"), std::string::npos) << session_->incidents()[0];
    EXPECT_NE(session_->incidents()[0].find("limit"), std::string::npos) << session_->incidents()[0];
    EXPECT_EQ(used(), 0u) << "what was allocated in vain is given back";
    session_.reset();
  }
}

TEST_F(HbmSession, WithoutRecoveryItIsAnError) {
  runtime_ = open_runtime(1);
  SessionOptions options;
  options.recover = false;
  const Status status = Session::prepare(*runtime_, layers(), {runtime_->device("hbm0").value()}, options).status();
  EXPECT_EQ(status.id(), "abi.e_device_memory") << status.to_string();
}

}  // namespace
}  // namespace backplane
