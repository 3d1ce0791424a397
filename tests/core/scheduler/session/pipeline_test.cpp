// Several runs in flight.
#include <gtest/gtest.h>
#include <pthread.h>

#include <system_error>
#include <thread>

#include "fake_runtime.hpp"
#include "small_graphs.hpp"

namespace backplane {
namespace {

using testing::accumulator;
using testing::adding_chain;
using testing::FakeRuntime;
using testing::first_of;
using testing::in_turn;
using testing::kSmallShape;
using testing::small_value;

class Pipelines : public ::testing::TestWithParam<const char*> {};

// Each run has inputs of its own, and they may be overwritten as soon as submit has returned.
TEST_P(Pipelines, EveryRunGivesItsOwnResult) {
  FakeRuntime runtime(GetParam());
  for (const uint32_t depth : {1u, 2u, 3u, 5u}) {
    SessionOptions options(in_turn(9, 2));
    options.pipeline_depth = depth;
    options.check_races = true;
    const auto session = Session::prepare(*runtime, adding_chain(9), {}, options).value();
    ASSERT_EQ(session->pipeline_depth(), depth);
    std::vector<uint64_t> runs;
    int32_t waited = 0;
    const auto wait_one = [&] {
      const Status status = session->wait(runs[static_cast<size_t>(waited)]);
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_EQ(first_of(session->output("y")), 100 * waited + 9);
      ++waited;
    };
    for (int32_t i = 0; i < 30; ++i) {
      if (runs.size() - static_cast<size_t>(waited) == depth) wait_one();
      ASSERT_TRUE(session->set_input("x", small_value(100 * i)).ok());
      runs.push_back(session->submit().value());
    }
    while (static_cast<size_t>(waited) < runs.size()) wait_one();
    EXPECT_EQ(session->totals().runs, 30u);
  }
}

TEST_P(Pipelines, InputsThatAreNotSetAgainKeepTheirValues) {
  FakeRuntime runtime(GetParam());
  SessionOptions options(in_turn(4, 2));
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(4), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(7)).ok());
  std::vector<uint64_t> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(session->submit().value());
  for (const uint64_t run : runs) {
    ASSERT_TRUE(session->wait(run).ok());
    EXPECT_EQ(first_of(session->output("y")), 11);
  }
}

TEST_P(Pipelines, StatesAreWrittenInTheOrderOfTheRuns) {
  FakeRuntime runtime(GetParam());
  SessionOptions options;
  options.plan.pins = {{"add", 0}, {"store", 1}};
  options.pipeline_depth = 3;
  options.check_races = true;
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
  const TensorId sum = builder.state("sum", DType::kI32, kSmallShape).value();
  const TensorId next = builder.op(Op::kADD, {sum, x}, {}, "add").value();
  ASSERT_TRUE(builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}, {}, "store").ok());
  ASSERT_TRUE(builder.output(next, "y").ok());
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  std::vector<uint64_t> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(session->submit().value());
  for (int i = 0; i < 20; ++i) {
    const Status status = session->wait(runs[static_cast<size_t>(i)]);
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(first_of(session->output("y")), i + 1);
    runs.push_back(session->submit().value());
  }
  for (size_t i = 20; i < runs.size(); ++i) ASSERT_TRUE(session->wait(runs[i]).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Session, Pipelines,
    ::testing::Values(R"({"devices": 2})", R"({"devices": 2, "memory": "host"})",
                      R"({"devices": 2, "async": true, "seed": 5, "max_delay_us": 300})",
                      R"({"devices": 2, "async": true, "seed": 6, "max_delay_us": 300, "events": false})",
                      R"({"devices": 2, "async": true, "seed": 7, "max_delay_us": 300, "memory": "host"})",
                      R"({"devices": 2, "0-async": true, "seed": 8, "max_delay_us": 300, "peer_copy": false})",
                      R"({"devices": 2, "async": true, "seed": 9, "max_delay_us": 300, "programs": false})"));

// While it lives, no thread can be made: its stack would not fit into the address space.
class NoThreads {
 public:
  NoThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t attributes;
    EXPECT_EQ(pthread_attr_init(&attributes), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 47), 0);
    EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST(Pipeline, WithoutThreadsTheCallerRunsTheTasks) {
  FakeRuntime runtime(R"({"devices": 2})");
  SessionOptions options(in_turn(9, 2));
  options.pipeline_depth = 2;
  const auto session = Session::prepare(*runtime, adding_chain(9), {}, options).value();
  std::vector<uint64_t> runs;
  {
    const NoThreads none;
    ASSERT_THROW(std::thread([] {}).join(), std::system_error);
    for (int32_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(session->set_input("x", small_value(i)).ok());
      runs.push_back(session->submit().value());
    }
  }
  for (int32_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(session->wait(runs[static_cast<size_t>(i)]).ok());
    EXPECT_EQ(first_of(session->output("y")), i + 9);
    ASSERT_TRUE(session->set_input("x", small_value(i + 2)).ok());
    runs.push_back(session->submit().value());  // with threads again
  }
  ASSERT_TRUE(session->wait(runs[6]).ok());
  ASSERT_TRUE(session->wait(runs[7]).ok());
}

TEST(Pipeline, MoreThanItsDepthIsRefused) {
  FakeRuntime runtime(R"({"devices": 1})");
  SessionOptions options;
  options.pipeline_depth = 2;
  const auto session = Session::prepare(*runtime, adding_chain(1), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  const uint64_t first = session->submit().value();
  const uint64_t second = session->submit().value();
  EXPECT_EQ(session->submit().status().id(), "session.pipeline-full");
  EXPECT_EQ(session->set_input("x", small_value(2)).id(), "session.pipeline-full");
  EXPECT_EQ(session->wait(second).id(), "session.run-number");  // not the oldest
  ASSERT_TRUE(session->wait(first).ok());
  ASSERT_TRUE(session->wait(second).ok());
  EXPECT_EQ(session->wait(second).id(), "session.run-number");
  options.pipeline_depth = 0;
  EXPECT_EQ(Session::prepare(*runtime, adding_chain(1), {}, options).status().code(), Code::invalid_argument);
}

TEST(Pipeline, AnOutputThatIsAStateHasOnePlace) {
  FakeRuntime runtime(R"({"devices": 2})");
  SessionOptions options;
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, accumulator(), {}, options).value();
  EXPECT_EQ(session->pipeline_depth(), 1u);
}

TEST(Pipeline, ShortMemoryMakesItLessDeep) {
  // Input and output are 4096 bytes each, the limit leaves room for two runs.
  FakeRuntime runtime(R"({"devices": 1, "memory_limit_bytes": 22000})");
  SessionOptions options;
  options.pipeline_depth = 8;
  const auto session = Session::prepare(*runtime, adding_chain(1, {1024}), {}, options).value();
  EXPECT_EQ(session->pipeline_depth(), 2u);
}

TEST(Pipeline, RunsBehindAFailedOneAreAborted) {
  FakeRuntime runtime(R"({"devices": 2, "fault_device": 1, "fail_at_call": 3})");
  SessionOptions options(in_turn(2, 2));
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(2), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  std::vector<uint64_t> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(session->submit().value());
  ASSERT_TRUE(session->wait(runs[0]).ok());
  runs.push_back(session->submit().value());
  ASSERT_TRUE(session->wait(runs[1]).ok());
  EXPECT_EQ(session->wait(runs[2]).code(), Code::internal);
  EXPECT_FALSE(session->output("y").ok());
  const Status behind = session->wait(runs[3]);
  EXPECT_TRUE(behind.ok() || behind.code() == Code::aborted) << behind.to_string();  // it may not have begun yet
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 3);
}

// A run that nobody could wait for would stay in flight for ever.
TEST(Pipeline, ARunAmongOthersIsRefusedAndLeavesNothingInFlight) {
  FakeRuntime runtime(R"({"devices": 2})");
  SessionOptions options(in_turn(2, 2));
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(2), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  const uint64_t first = session->submit().value();
  EXPECT_EQ(session->run().id(), "session.in-flight");
  ASSERT_TRUE(session->wait(first).ok());
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 3);
}

// Another graph waits for all that is in flight. The error of one is told, and stands in nobody's way.
TEST(Pipeline, AFailedRunLeavesTheOthersNotInFlight) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "0-fail_submit_at": 2})");
  SessionOptions options;
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(2), {}, options).value();
  ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->submit().ok());
  EXPECT_EQ(session->use(adding_chain(3)).code(), Code::internal);
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(first_of(session->output("y")), 3);
  ASSERT_TRUE(session->use(adding_chain(3)).ok());
}

}  // namespace
}  // namespace backplane
