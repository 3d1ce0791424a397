// Who may touch which memory when, in runs on several devices. README.md says which rows these tests are for.
#include <gtest/gtest.h>

#include <algorithm>

#include "row_checks.hpp"

namespace backplane::testing {
namespace {

// ---- memory that devices share

// The host's result `a` is read where it is, by a device that takes its time. The host's next result may have its
// memory only after that, whether the split that writes it has inputs of other devices or none.
TEST(Sharing, ASlowReaderOfTheHostsMemoryKeepsIt) {
  for (const bool crosses : {false, true}) {
    SCOPED_TRACE(crosses);
    FakeRuntime runtime(R"({"devices": 3, "0-memory": "host", "0-async": true, "0-max_delay_us": 400,
                            "1-async": true, "2-memory": "host", "detect_conflicts": true})");
    GraphMaker maker(1);
    const TensorId x = maker.input({64, 8});
    const TensorId a = maker.op(Op::kNEG, {x}, {}, "a");
    const TensorId u = maker.op(Op::kADD, {a, a}, {}, "u");
    const TensorId v = maker.op(Op::kADD, {x, x}, {}, "v");
    const TensorId w = maker.op(Op::kSUB, {crosses ? v : x, x}, {}, "w");
    maker.output(u);
    maker.output(v);
    maker.output(maker.op(Op::kADD, {w, x}, {}, "z"));
    const GeneratedGraph generated = maker.finish();
    SessionOptions options(pinned({{"a", 2}, {"u", 0}, {"v", 1}, {"w", 2}, {"z", 2}}));
    options.check_races = true;
    const auto session = Session::prepare(*runtime, generated.graph, {}, options).value();
    const auto is_read_in_place = [](const PlannedCopy& copy) { return copy.from == 2 && copy.to == 0; };
    EXPECT_TRUE(std::ranges::none_of(session->plan().copies, is_read_in_place));
    expect_right(*session, generated, 20);
    EXPECT_EQ(fake_conflict(*runtime.devices()[0]), "");
  }
}

// Inputs in host memory that two devices read in the background, one in place, may be written as soon as submit says.
TEST(Sharing, AnInputOfTwoDevicesMayBeOverwrittenAtOnce) {
  FakeRuntime runtime(R"({"devices": 3, "async": true, "max_delay_us": 300, "0-memory": "host", "2-memory": "host",
                          "detect_conflicts": true})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
  const TensorId a = builder.op(Op::kNEG, {x}, {}, "a").value();
  const TensorId b = builder.op(Op::kADD, {x, x}, {}, "b").value();
  ASSERT_TRUE(builder.output(a, "a").ok());
  ASSERT_TRUE(builder.output(b, "b").ok());
  SessionOptions options(pinned({{"a", 0}, {"b", 1}}));
  options.pipeline_depth = 3;
  options.check_races = true;
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  std::vector<uint64_t> runs;
  for (int32_t i = 0; i < 40; ++i) {
    if (i >= 3) {
      ASSERT_TRUE(session->wait(runs[static_cast<size_t>(i - 3)]).ok());
      ASSERT_EQ(first_of(session->output("a")), -(i - 3));
      ASSERT_EQ(first_of(session->output("b")), 2 * (i - 3));
    }
    HostTensor value = small_value(i);
    ASSERT_TRUE(session->set_input("x", value).ok());
    runs.push_back(session->submit().value());
    std::fill_n(value.mutable_data<int32_t>(), value.elements(), -1000);
  }
  EXPECT_EQ(fake_conflict(*runtime.devices()[0]), "");
}

TEST(Sharing, DevicesWithAndWithoutEventsWaitForEachOther) {
  for (const char* events : {"", R"(, "0-events": false)", R"(, "1-events": false)", R"(, "events": false)"}) {
    SCOPED_TRACE(events);
    FakeRuntime runtime(std::string(R"({"devices": 2, "async": true, "max_delay_us": 100, "detect_conflicts": true)") +
                        events + "}");
    SessionOptions options(in_turn(9, 2));
    options.check_races = true;
    const auto session = Session::prepare(*runtime, adding_chain(9), {}, options).value();
    for (int32_t i = 0; i < 10; ++i) {
      ASSERT_TRUE(run_once(*session, {{"x", small_value(i)}}).ok());
      ASSERT_EQ(first_of(session->output("y")), i + 9);
    }
    EXPECT_EQ(fake_conflict(*runtime.devices()[0]), "");
  }
}

// ggml waits for whole devices, three times for each of these splits.
TEST(Sharing, SplitsAreOrderedByEventsNotByWaitingForDevices) {
  FakeRuntime runtime(R"({"devices": 2, "async": true})");
  const auto session = Session::prepare(*runtime, adding_chain(16), {}, in_turn(16, 2)).value();
  ASSERT_EQ(session->plan().splits.size(), 16u);
  ASSERT_TRUE(run_once(*session, {{"x", small_value(1)}}).ok());
  reset_fakes(runtime.devices());
  ASSERT_TRUE(session->run().ok());
  EXPECT_LE(calls(runtime, BP_FAKE_SYNCHRONIZE), 4u);  // at the end of the run: splits and copies of both devices
}

// A run that failed is over: nothing of it is done later, and no memory is freed that something still uses.
TEST(Sharing, NothingGoesOnAfterAFailedRun) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "1-max_delay_us": 3000, "0-fail_submit_at": 1,
                          "detect_conflicts": true})");
  GraphMaker maker(1);
  const TensorId x = maker.input({16, 16});
  TensorId slow = maker.op(Op::kNEG, {x}, {}, "n0");
  PlanOptions pins = pinned({{"n0", 1}, {"fails", 0}});
  maker.output(maker.op(Op::kADD, {slow, x}, {}, "fails"));
  for (int i = 2; i < 8; ++i) {
    slow = maker.op(Op::kNEG, {slow}, {}, "n" + std::to_string(i));
    pins.pins.emplace_back("n" + std::to_string(i), 1);
  }
  maker.output(slow);
  pins.cuts = {0, 1, 2, 3, 4, 5, 6};  // each takes its time
  const GeneratedGraph generated = maker.finish();
  SessionOptions options(pins);
  options.recover = false;
  auto session = Session::prepare(*runtime, generated.graph, {}, options).value();
  EXPECT_FALSE(run_once(*session, generated.inputs).ok());
  const uint64_t done = fake_counters(*runtime.devices()[1]).nodes;
  session = nullptr;
  EXPECT_EQ(fake_counters(*runtime.devices()[1]).nodes, done);
  EXPECT_EQ(fake_conflict(*runtime.devices()[0]), "");
  EXPECT_EQ(fake_leaks(runtime.devices()), "");
}

// ---- states

// The device that has the state cannot write into it: another writes a copy, which comes back. The other's next reader
// does not see the old value, nor does the state's device.
TEST(States, AWriterElsewhereWritesBack) {
  FakeRuntime runtime(R"({"devices": 2, "1-deny": "copy"})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
  const TensorId sum = builder.state("sum", DType::kI32, kSmallShape).value();
  const TensorId next = builder.op(Op::kADD, {sum, x}, {}, "add").value();
  const TensorId stored = builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}, {}, "store").value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {stored}, {}, "here").value(), "here").ok());
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {stored}, {}, "there").value(), "there").ok());
  PlanOptions options = pinned({{"here", 0}, {"there", 1}});
  options.locations = {{"sum", 1}};
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  EXPECT_TRUE(std::ranges::any_of(session->plan().copies, &PlannedCopy::write_back));
  for (int32_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(run_once(*session, {{"x", small_value(5)}}).ok());
    EXPECT_EQ(first_of(session->output("here")), -5 * i);
    EXPECT_EQ(first_of(session->output("there")), -5 * i);
  }
}

// Writes through a view: what the other device does not write of the state must survive the way there and back.
TEST(States, AWriterElsewhereOfAPartKeepsTheRest) {
  FakeRuntime runtime(R"({"devices": 2, "1-deny": "copy"})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{2, 1}).value();
  const TensorId cache = builder.state("cache", DType::kI32, kSmallShape).value();
  const TensorId column = builder.slice(cache, 1, 1, 1).value();
  const TensorId doubled = builder.op(Op::kADD, {x, x}, {}, "double").value();
  ASSERT_TRUE(builder.node_into(column, Op::kCOPY, std::vector<TensorId>{doubled}, {}, "store").ok());
  const TensorId all = builder.op(Op::kADD, {cache, cache}, {}, "all").value();
  const TensorId rest = builder.op(Op::kADD, {builder.slice(cache, 1, 0, 1).value(), x}, {}, "rest").value();
  ASSERT_TRUE(
      builder.node_into(builder.slice(cache, 1, 0, 1).value(), Op::kADD, std::vector<TensorId>{rest, x}, {}, "other")
          .ok());
  ASSERT_TRUE(builder.output(all, "y").ok());
  PlanOptions options;
  options.locations = {{"cache", 1}};
  const auto session = Session::prepare(*runtime, builder.finish().value(), {}, options).value();
  const HostTensor one = HostTensor::of<int32_t>(DType::kI32, {2, 1}, std::vector<int32_t>{1, 2});
  ASSERT_TRUE(run_once(*session, {{"x", one}}).ok());
  EXPECT_EQ(list_of(session->output("y").value()), (std::vector<int32_t>{0, 4, 0, 0, 8, 0}));
  ASSERT_TRUE(session->run().ok());
  EXPECT_EQ(list_of(session->output("y").value()), (std::vector<int32_t>{4, 4, 0, 8, 8, 0}));
}

// A recurrent network whose states lie on the devices in turn: the same splits whatever was planned before.
TEST(States, OnDevicesInTurnGiveTheSameSplitsEveryTime) {
  FakeRuntime runtime(R"({"devices": 3})");
  constexpr int kLayers = 6;
  const auto layers = [](Op first) {
    GraphBuilder builder;
    TensorId x = builder.op(first, {builder.input("x", DType::kI32, kSmallShape).value()}).value();
    for (int i = 0; i < kLayers; ++i) {
      const std::string name = "s" + std::to_string(i);
      const TensorId state = builder.state(name, DType::kI32, kSmallShape).value();
      const TensorId next = builder.op(Op::kADD, {state, x}).value();
      x = builder.node_into(state, Op::kCOPY, std::vector<TensorId>{next}).value();
    }
    EXPECT_TRUE(builder.output(x, "y").ok());
    return builder.finish().value();
  };
  PlanOptions options;
  for (int i = 0; i < kLayers; ++i) options.locations.emplace_back("s" + std::to_string(i), i % 2);
  const auto graph = layers(Op::kRELU);
  const std::string wanted = make_plan(graph, runtime.devices(), options).value()->to_json().dump();
  SessionOptions session_options(options);
  session_options.cached_plans = 1;
  const auto session = Session::prepare(*runtime, graph, {}, session_options).value();
  EXPECT_LE(session->plan().splits.size(), static_cast<size_t>(kLayers) + 1);
  // y is a sum of sums: 1, then 7 (1 and 6 layers that each had 1), as binomials.
  const std::vector<int32_t> results = {1, 7, 28, 84};
  for (const int32_t result : results) {
    ASSERT_TRUE(session->use(graph).ok());
    EXPECT_EQ(session->plan().to_json().dump(), wanted);
    ASSERT_TRUE(run_once(*session, {{"x", small_value(1)}}).ok());
    EXPECT_EQ(first_of(session->output("y")), result);
    ASSERT_TRUE(session->use(layers(Op::kNEG)).ok());
  }
}

}  // namespace
}  // namespace backplane::testing
