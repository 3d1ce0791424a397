#include "backplane/scheduler/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/session.hpp"
#include "fake_runtime.hpp"
#include "random_graph.hpp"
#include "trace_check.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;
using testing::trace_faults;

// Runs as the plan allows: each task once its lane is free and what it waits for is done; it takes 10 ns and more.
void add_runs(Trace& trace, const Plan& plan, uint64_t runs) {
  uint64_t start = 1'000'000'007;
  for (uint64_t run = 1; run <= runs; ++run) {
    std::vector<uint64_t> ends(plan.tasks.size()), lanes(2 * plan.device_names.size(), start);
    for (uint32_t i = 0; i < plan.tasks.size(); ++i) {
      const Task& task = plan.tasks[i];
      uint64_t begin = lanes[task.lane];
      for (uint32_t w = 0; w < task.wait_count; ++w) begin = std::max(begin, ends[plan.waits[task.first_wait + w]]);
      ends[i] = lanes[task.lane] = begin + 10 + i % 7 * 1000;
      trace.add({run, i, begin, ends[i]});
    }
    start = *std::ranges::max_element(lanes);
  }
}

std::string faults_text(const Json& json, const Plan& plan, uint64_t runs) {
  std::string text;
  for (const std::string& fault : trace_faults(json, plan, runs)) text += fault + '\n';
  return text;
}

std::shared_ptr<const Plan> plan_of(FakeRuntime& runtime, uint64_t seed) {
  return make_plan(testing::make_random_graph(seed, 60).graph, runtime.devices()).value();
}

std::vector<const Json*> events_of(const Json& trace, const std::string& phase) {
  std::vector<const Json*> found;
  for (const Json& event : trace.find("traceEvents")->items())
    if (event.find("ph")->as_text() == phase) found.push_back(&event);
  return found;
}

TEST(Trace, OfRandomPlansIsSound) {
  FakeRuntime runtime(R"({"devices": 3, "supports": "alternate"})");
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const auto plan = plan_of(runtime, seed);
    Trace trace;
    add_runs(trace, *plan, seed % 3 + 1);
    const Json json = trace.to_json(*plan);
    EXPECT_EQ(faults_text(json, *plan, seed % 3 + 1), "") << "seed " << seed;
    EXPECT_EQ(events_of(json, "X").size(), plan->tasks.size() * (seed % 3 + 1));
    const auto copies = std::ranges::count_if(plan->tasks, &Task::is_copy);
    EXPECT_GT(copies, 0);
    EXPECT_GE(events_of(json, "s").size(), static_cast<size_t>(copies)) << "each copy is read by some split";
  }
}

// Six runs, as many in flight as the session allows; returns how many those are.
uint32_t trace_session(const char* options, uint32_t depth, uint64_t seed) {
  constexpr uint64_t kRuns = 6;
  FakeRuntime runtime(options);
  const testing::RandomGraph random = testing::make_random_graph(seed, 40);
  Trace trace;
  SessionOptions session_options;
  session_options.pipeline_depth = depth;
  const auto session = Session::prepare(*runtime, random.graph, runtime.devices(), session_options).value();
  for (const auto& [name, value] : random.inputs) EXPECT_TRUE(session->set_input(name, value).ok());
  RunOptions run_options;
  run_options.trace = &trace;
  std::deque<uint64_t> in_flight;
  for (uint64_t submitted = 0; submitted < kRuns || !in_flight.empty();) {
    if (submitted < kRuns && in_flight.size() < session->pipeline_depth()) {
      in_flight.push_back(session->submit(run_options).value());
      ++submitted;
    } else {
      EXPECT_TRUE(session->wait(in_flight.front()).ok());
      in_flight.pop_front();
    }
  }
  EXPECT_EQ(trace.size(), kRuns * session->plan().tasks.size());
  EXPECT_EQ(faults_text(trace.to_json(session->plan()), session->plan(), kRuns), "") << options << " seed " << seed;
  return session->pipeline_depth();
}

// What sessions fill in themselves: one lane after another, lanes at once, and several runs in flight.
TEST(Trace, OfRealRunsIsSound) {
  for (const char* options : {R"({"devices": 3, "supports": "alternate"})",
                              R"({"devices": 3, "supports": "alternate", "async": true, "max_delay_us": 50})"}) {
    uint32_t deepest = 0;
    for (uint64_t seed = 1; seed <= 4; ++seed) deepest = std::max(deepest, trace_session(options, 3, seed));
    EXPECT_EQ(deepest, 3u) << "graphs that show a state run one after another, others do not";
    EXPECT_EQ(trace_session(options, 1, 6), 1u);
  }
}

// x on d1 -> a (d0) -> b (d1), which is the output: two copies there and back.
struct TwoDevices {
  FakeRuntime runtime{R"({"devices": 2})"};
  std::shared_ptr<const Plan> plan;

  TwoDevices() {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{4, 8}).value();
    const TensorId a = builder.op(Op::kNEG, {x}, {}, "a").value();
    const TensorId b = builder.op(Op::kADD, {a, x}, {}, "b").value();
    EXPECT_TRUE(builder.output(b, "y").ok());
    PlanOptions options;
    options.pins = {{"a", 0}, {"b", 1}};
    plan = make_plan(builder.finish().value(), runtime.devices(), options).value();
  }
};

TEST(Trace, ShowsSlicesArrowsAndCounters) {
  TwoDevices world;
  ASSERT_EQ(world.plan->tasks.size(), 4u);
  Trace trace;
  for (uint32_t task = 0; task < 4; ++task) trace.add({7, task, 100 + 100 * task, 150 + 100 * task});
  const Json json = trace.to_json(*world.plan);
  EXPECT_EQ(faults_text(json, *world.plan, 1), "");
  const auto slices = events_of(json, "X");
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[0]->find("name")->as_text(), "copy x");
  EXPECT_EQ(slices[0]->find("args")->find("bytes")->as_integer(), 128);
  EXPECT_EQ(slices[0]->find("ts")->as_number(), 0);
  EXPECT_EQ(slices[0]->find("pid")->as_integer(), 1) << "the lane of the device that it is copied to";
  EXPECT_EQ(slices[1]->find("name")->as_text(), "split 0 (neg)");
  EXPECT_EQ(slices[1]->find("args")->find("cause")->as_text(), "pin");
  EXPECT_EQ(slices[1]->find("args")->find("run")->as_integer(), 7);
  EXPECT_EQ(slices[1]->find("args")->find("ops")->find("neg")->as_integer(), 1);
  EXPECT_EQ(slices[3]->find("pid")->as_integer(), 2);
  EXPECT_EQ(slices[3]->find("ts")->as_number(), 0.3);
  EXPECT_EQ(slices[3]->find("dur")->as_number(), 0.05);
  EXPECT_EQ(events_of(json, "s").size(), 3u) << "x to a, a to its copy, that to b";
  uint64_t copied = 0;
  for (const Json* counter : events_of(json, "C"))
    if (counter->find("name")->as_text() == "bytes copied")
      copied += static_cast<uint64_t>(counter->find("args")->find("bytes")->as_integer());
  EXPECT_EQ(copied, world.plan->copy_bytes) << "one copy to each device";
}

TEST(Trace, LiveBytesRiseAndFallToNothing) {
  TwoDevices world;
  Trace trace;
  add_runs(trace, *world.plan, 2);
  std::map<std::string, std::vector<int64_t>> levels;
  const Json json = trace.to_json(*world.plan);
  for (const Json* counter : events_of(json, "C"))
    levels[counter->find("name")->as_text()].push_back(counter->find("args")->find("bytes")->as_integer());
  size_t arenas = 0;
  for (size_t pool = 0; pool < world.plan->pools.size(); ++pool) {
    if (world.plan->pools[pool].kind != PoolKind::arena) continue;
    ++arenas;
    const std::vector<int64_t>& level = levels["live bytes, pool " + std::to_string(pool)];
    ASSERT_FALSE(level.empty());
    EXPECT_EQ(level.back(), 0);
    EXPECT_GE(*std::ranges::max_element(level), 128);
  }
  EXPECT_GE(arenas, 1u);
}

TEST(Trace, FaultsAreFound) {
  TwoDevices world;
  const Plan& plan = *world.plan;
  const auto faults = [&plan](std::vector<TraceEvent> events) {
    Trace trace;
    for (const TraceEvent& event : events) trace.add(event);
    return faults_text(trace.to_json(plan), plan, 1);
  };
  EXPECT_EQ(faults({{1, 0, 0, 9}, {1, 1, 10, 19}, {1, 2, 20, 29}, {1, 3, 30, 39}}), "");
  EXPECT_NE(faults({{1, 0, 0, 15}, {1, 1, 10, 19}, {1, 2, 20, 29}, {1, 3, 30, 39}}).find("overlap"), std::string::npos);
  EXPECT_NE(faults({{1, 0, 0, 9}, {1, 1, 25, 29}, {1, 2, 20, 22}, {1, 3, 30, 39}}).find("back in time"),
            std::string::npos);
  EXPECT_NE(faults({{1, 1, 10, 19}, {1, 2, 20, 29}, {1, 3, 30, 39}}).find("copied 128 bytes"), std::string::npos);
  EXPECT_EQ(trace_faults(Json::array(), plan, 0).size(), 1u);
}

TEST(Trace, EmptyOrOfAnotherPlanIsStillAFile) {
  TwoDevices world;
  Trace trace;
  EXPECT_EQ(faults_text(trace.to_json(*world.plan), *world.plan, 0), "");
  trace.add({1, 99, 5, 6});
  EXPECT_TRUE(events_of(trace.to_json(*world.plan), "X").empty());
  trace.clear();
  EXPECT_EQ(trace.size(), 0u);
}

TEST(Trace, IsAddedToFromAnyThread) {
  Trace trace;
  trace.reserve(4000);
  std::vector<std::thread> threads;
  for (uint64_t run = 0; run < 4; ++run)
    threads.emplace_back([&trace, run] {
      for (uint32_t task = 0; task < 1000; ++task) trace.add({run, task, task, task + 1});
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(trace.size(), 4000u);
}

TEST(Trace, IsWrittenToAFile) {
  TwoDevices world;
  Trace trace;
  add_runs(trace, *world.plan, 1);
  const std::string path = std::filesystem::temp_directory_path() / ("trace-" + std::to_string(getpid()) + ".json");
  ASSERT_TRUE(trace.write(*world.plan, path).ok());
  std::ifstream file(path);
  const std::string written{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(faults_text(parse_json(written, path).value(), *world.plan, 1), "");
  std::filesystem::remove(path);
  const Status status = trace.write(*world.plan, "/nowhere/trace.json");
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_NE(status.message().find("/nowhere/trace.json"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace backplane
