#include "scheduler/execution/memory_guard.hpp"

#include <gtest/gtest.h>

#include <set>

#include "../session/small_graphs.hpp"
#include "fake_runtime.hpp"

namespace backplane::testing {
namespace {

SessionOptions debugging() {
  SessionOptions options;
  options.debug_memory = true;
  return options;
}

TEST(MemoryGuard, EveryTensorHasABufferOfItsOwn) {
  FakeRuntime runtime(R"({"devices": 2})");
  SessionOptions options = debugging();
  options.plan = in_turn(6, 2);
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(6), {}, options).value();
  EXPECT_EQ(session->pipeline_depth(), 1u);
  std::set<std::pair<uint32_t, uint32_t>> buffers;
  for (const Residence& residence : session->plan().residences) {
    if (residence.pool == kNone) continue;
    EXPECT_TRUE(buffers.emplace(residence.pool, residence.chunk).second);
    EXPECT_EQ(residence.offset, 64u);
    EXPECT_EQ(residence.in_place_of, kNone);
  }
  for (int32_t value : {5, -7}) {
    ASSERT_TRUE(session->set_input("x", small_value(value)).ok());
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(first_of(session->output("y")), value + 6);
  }
}

TEST(MemoryGuard, ATensorThatIsOverrunIsNamedWithItsNode) {
  FakeRuntime runtime(R"({"overrun": "abs"})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
  const TensorId before = builder.op(Op::kNEG, {x}, {}, "before").value();
  const TensorId bad = builder.op(Op::kABS, {before}, {}, "bad").value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {bad}, {}, "behind").value(), "y").ok());
  const std::shared_ptr<const Graph> graph = builder.finish().value();
  const auto session = Session::prepare(*runtime, graph, {}, debugging()).value();
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(session->set_input("x", small_value(3)).ok());
    const Status status = session->run();
    EXPECT_EQ(status.id(), "session.red-zone");
    EXPECT_NE(status.message().find("node 1 (abs) 'bad'"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("byte 1 behind"), std::string::npos) << status.message();
  }
}

TEST(MemoryGuard, SeesWhatIsWrittenBesideGraphOutputs) {
  FakeRuntime runtime(R"({"overrun": "add"})");
  const auto session = Session::prepare(*runtime, adding_chain(1), {}, debugging()).value();
  ASSERT_TRUE(session->set_input("x", small_value(3)).ok());
  EXPECT_EQ(session->run().id(), "session.red-zone");
}

TEST(MemoryGuard, OtherGraphsOfTheSessionShareTheBuffers) {
  FakeRuntime runtime("{}");
  const auto small = adding_chain(4), large = adding_chain(7, {9, 11});
  const auto session = Session::prepare(*runtime, small, {}, debugging()).value();
  for (const auto& [graph, length] : {std::pair(large, 7), std::pair(small, 4), std::pair(large, 7)}) {
    ASSERT_TRUE(session->use(graph).ok());
    const HostTensor zeros =
        HostTensor::zeros(DType::kI32, graph == small ? kSmallShape : std::vector<int64_t>{9, 11}).value();
    ASSERT_TRUE(session->set_input("x", zeros).ok());
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(first_of(session->output("y")), length);
  }
}

}  // namespace
}  // namespace backplane::testing
