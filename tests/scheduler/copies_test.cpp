// Which bytes are copied, and how much memory there is. README.md says which rows these tests are for.
#include <gtest/gtest.h>

#include <algorithm>

#include "row_checks.hpp"

namespace backplane::testing {
namespace {

// ---- copies

// 16 columns of 512: their bytes are copied, not the 254 times as many between the first and the last.
TEST(Copies, OfColumnsTakeOnlyTheColumns) {
  FakeRuntime runtime(R"({"devices": 2})");
  for (const int64_t rows : {1, 2, 64}) {
    SCOPED_TRACE(rows);
    GraphMaker maker(3);
    const TensorId wide = maker.op(Op::kNEG, {maker.input({rows, 512})}, {}, "wide");
    maker.output(maker.op(Op::kNEG, {maker.slice(wide, 1, 100, 16)}, {}, "narrow"));
    const GeneratedGraph generated = maker.finish();
    const auto session = Session::prepare(*runtime, generated.graph, {}, pinned({{"wide", 1}, {"narrow", 0}})).value();
    ASSERT_EQ(session->plan().copies.size(), 1u);
    EXPECT_EQ(session->plan().copy_bytes, static_cast<uint64_t>(rows) * 16 * 4);
    expect_right(*session, generated, 2);
    EXPECT_EQ(session->statistics().copied_bytes, session->plan().copy_bytes);
  }
}

// q, k and v are views of one product: it is copied once, not three times.
TEST(Copies, OfThreeViewsOfOneResultAreOne) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphMaker maker(4);
  const TensorId fused = maker.op(Op::kNEG, {maker.input({32, 48})}, {}, "fused");
  const TensorId q = maker.slice(fused, 1, 0, 16), k = maker.slice(fused, 1, 16, 16), v = maker.slice(fused, 1, 32, 16);
  const TensorId scores = maker.op(Op::kMATMUL, {q, maker.transpose(k)}, {}, "scores");
  maker.output(maker.op(Op::kMATMUL, {scores, v}, {}, "mixed"));
  const GeneratedGraph generated = maker.finish();
  const auto session =
      Session::prepare(*runtime, generated.graph, {}, pinned({{"fused", 1}, {"scores", 0}, {"mixed", 0}})).value();
  ASSERT_EQ(session->plan().copies.size(), 1u);
  EXPECT_EQ(session->plan().copy_bytes, uint64_t{32} * 48 * 4);
  expect_right(*session, generated);
}

// Two parts of one result are one copy where they are near to each other, else two without what is between them.
TEST(Copies, OfPartsThatAreFarApartAreTwo) {
  struct Case {
    int64_t axis;
    int64_t first, second;  // begins, of 16 rows or columns of 512 x 512
    size_t copies;
    uint64_t kib;
  };
  FakeRuntime runtime(R"({"devices": 2})");
  for (const auto& [axis, first, second, copies, kib] :
       {Case{0, 0, 40, 1, 112}, Case{0, 40, 0, 1, 112}, Case{0, 0, 496, 2, 64}, Case{0, 40, 48, 1, 48},
        Case{1, 0, 32, 1, 96}, Case{1, 0, 496, 2, 64}, Case{1, 496, 0, 2, 64}, Case{1, 8, 8, 1, 32}}) {
    SCOPED_TRACE(::testing::Message() << "axis " << axis << ", " << first << " and " << second);
    GraphMaker maker(3);
    const TensorId wide = maker.op(Op::kNEG, {maker.input({512, 512})}, {}, "wide");
    const TensorId a = maker.op(Op::kNEG, {maker.slice(wide, axis, first, 16)}, {}, "a");
    maker.output(maker.op(Op::kADD, {a, maker.slice(wide, axis, second, 16)}, {}, "b"));
    const GeneratedGraph generated = maker.finish();
    const auto session =
        Session::prepare(*runtime, generated.graph, {}, pinned({{"wide", 1}, {"a", 0}, {"b", 0}})).value();
    EXPECT_EQ(session->plan().copies.size(), copies);
    EXPECT_EQ(session->plan().copy_bytes, kib * 1024);
    expect_right(*session, generated, 2);
  }
}

// A third part between two that are far apart makes them one again, and many parts are one.
TEST(Copies, OfManyPartsAreOne) {
  FakeRuntime runtime(R"({"devices": 2})");
  for (const bool many : {false, true}) {
    GraphMaker maker(3);
    const TensorId wide = maker.op(Op::kNEG, {maker.input({many ? 2048 : 96, 512})}, {}, "wide");
    TensorId sum = maker.op(Op::kNEG, {maker.slice(wide, 0, 0, 16)}, {}, "n0");
    PlanOptions options = pinned({{"wide", 1}, {"n0", 0}});
    std::vector<int64_t> begins = {80, 40};
    if (many) begins.clear();
    for (int64_t begin = 100; many && begin < 1900; begin += 100) begins.push_back(begin);
    for (const int64_t begin : begins) {
      const std::string name = "n" + std::to_string(begin);
      sum = maker.op(Op::kADD, {sum, maker.slice(wide, 0, begin, 16)}, {}, name);
      options.pins.emplace_back(name, 0);
    }
    maker.output(sum);
    const GeneratedGraph generated = maker.finish();
    const auto session = Session::prepare(*runtime, generated.graph, {}, options).value();
    EXPECT_EQ(session->plan().copies.size(), many ? 3u : 1u);  // 17 are one, and two more
    EXPECT_EQ(session->plan().copy_bytes, (many ? 1616u + 2 * 16 : 96u) * 2048);
    expect_right(*session, generated);
  }
}

// What several devices want that do not reach each other is read once, and given on from the host's memory.
TEST(Copies, OfOneResultForSeveralDevicesReadItOnce) {
  for (const char* world :
       {R"({"devices": 4, "peer_copy": false, "3-memory": "host"})",
        R"({"devices": 4, "peer_copy": false, "3-memory": "host", "async": true, "max_delay_us": 50})"}) {
    for (const uint32_t last : {2u, 3u}) {  // 3 is the host
      SCOPED_TRACE(::testing::Message() << world << " " << last);
      FakeRuntime runtime(world);
      GraphMaker maker(9);
      const TensorId made = maker.op(Op::kNEG, {maker.input({64, 64})}, {}, "made");
      const TensorId a = maker.op(Op::kNEG, {maker.slice(made, 0, 0, 8)}, {}, "a");
      const TensorId b = maker.op(Op::kNEG, {maker.slice(made, 0, 48, 8)}, {}, "b");
      const TensorId c = maker.op(Op::kNEG, {maker.slice(made, 0, 20, 8)}, {}, "c");
      maker.output(maker.op(Op::kADD, {a, c}, {}, "ac"));
      maker.output(b);
      const GeneratedGraph generated = maker.finish();
      SessionOptions options(pinned({{"made", 0}, {"a", 1}, {"b", last}, {"c", 1}, {"ac", 1}}));
      options.check_races = true;
      const auto session = Session::prepare(*runtime, generated.graph, {}, options).value();
      expect_right(*session, generated, 2);
      reset_fakes(runtime.devices());
      ASSERT_TRUE(session->run().ok());
      EXPECT_EQ(fake_counters(*runtime.devices()[0]).calls[BP_FAKE_READ], 1u);
    }
  }
}

// 16 MiB on one device and a row on another are joined where the 16 MiB are, in whatever order the list has them.
TEST(Copies, TheSmallPartGoesToTheLargeOne) {
  for (const bool large_first : {false, true}) {
    SCOPED_TRACE(large_first);
    FakeRuntime runtime(R"({"devices": 3})");
    GraphMaker maker(5);
    const TensorId x = maker.input({64, 1024}), y = maker.input({1, 1024});
    std::vector<TensorId> parts;
    for (const bool large : {large_first, !large_first})
      parts.push_back(maker.op(Op::kNEG, {large ? x : y}, {}, large ? "large" : "small"));
    maker.output(maker.op(Op::kNEG, {maker.concat(parts, 0)}));
    const GeneratedGraph generated = maker.finish();
    const auto plan = make_plan(generated.graph, runtime.devices(), pinned({{"large", 1}, {"small", 0}})).value();
    EXPECT_EQ(plan->placements[2].device, 1u) << plan->explain(2);
  }
}

// One weight that is elsewhere is copied once for all eight readers, which stay one split.
TEST(Copies, OfOneWeightForManyReadersAreOne) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{1, 256}).value();
  const TensorId w = builder.constant(HostTensor::zeros(DType::kI32, {256, 256}).value(), "w").value();
  PlanOptions options;
  for (int i = 0; i < 8; ++i) {
    x = builder.op(Op::kMATMUL, {x, w}, {}, "n" + std::to_string(i)).value();
    options.pins.emplace_back("n" + std::to_string(i), 0);
  }
  ASSERT_TRUE(builder.output(x, "y").ok());
  options.weights_device = 1;
  const auto plan = make_plan(builder.finish().value(), runtime.devices(), options).value();
  EXPECT_EQ(plan->splits.size(), 1u);
  EXPECT_LE(plan->copies.size(), 2u);  // of the input too
  EXPECT_LE(plan->copy_bytes, uint64_t{256} * 256 * 4 + 256 * 4);
}

// Biases on the host beside work on a device: they are put there once, and cut nothing.
TEST(Copies, TinyWeightsCutNothing) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphBuilder builder;
  TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{64, 64}).value();
  PlanOptions options;
  for (int i = 0; i < 8; ++i) {
    const std::string number = std::to_string(i);
    const TensorId w = builder.constant(HostTensor::zeros(DType::kI32, {64, 64}).value(), "w" + number).value();
    const TensorId bias = builder.constant(HostTensor::zeros(DType::kI32, {64}).value(), "b" + number).value();
    x = builder.op(Op::kADD, {builder.op(Op::kMATMUL, {x, w}).value(), bias}).value();
    options.locations.insert(options.locations.end(), {{"w" + number, 0}, {"b" + number, 1}});
  }
  ASSERT_TRUE(builder.output(x, "y").ok());
  const auto plan = make_plan(builder.finish().value(), runtime.devices(), options).value();
  EXPECT_EQ(plan->splits.size(), 1u);
  EXPECT_EQ(plan->copy_bytes, uint64_t{64} * 64 * 4);  // the input
}

// A constant that two devices read is on both: no copies for it in a run, no cut, and no circle of splits.
TEST(Copies, AConstantOfTwoDevicesIsOnBoth) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto session = Session::prepare(*runtime, adding_chain(4), {}, in_turn(4, 2)).value();
  EXPECT_EQ(session->plan().splits.size(), 4u);
  EXPECT_EQ(session->plan().weight_bytes, 2u * 6 * 4);
  for (const PlannedCopy& copy : session->plan().copies) EXPECT_TRUE(session->graph().constant(copy.storage).is_null());
  ASSERT_TRUE(run_once(*session, {{"x", small_value(1)}}).ok());
  EXPECT_EQ(first_of(session->output("y")), 5);
}

// A copy waits for what it copies; not for the other inputs of the split that needs it.
TEST(Copies, WaitForNothingButTheirSource) {
  FakeRuntime runtime(R"({"devices": 4, "async": true})");
  GraphMaker maker(6);
  const TensorId x = maker.input({8, 8});
  const TensorId a = maker.op(Op::kNEG, {x}, {}, "a"), b = maker.op(Op::kADD, {x, x}, {}, "b");
  maker.output(maker.op(Op::kSUB, {a, b}, {}, "c"));
  const GeneratedGraph generated = maker.finish();
  const auto plan = make_plan(generated.graph, runtime.devices(), pinned({{"a", 0}, {"b", 1}, {"c", 2}})).value();
  int seen = 0;
  for (const Task& task : plan->tasks) {
    if (!task.is_copy || plan->copies[task.index].to != 2) continue;
    ++seen;
    ASSERT_EQ(task.wait_count, 1u);
    const Task& awaited = plan->tasks[plan->waits[task.first_wait]];
    EXPECT_FALSE(awaited.is_copy);
    EXPECT_EQ(awaited.device, plan->copies[task.index].from);
  }
  EXPECT_EQ(seen, 2);
}

// Weights that are streamed to a device come while it works on the split before, and no earlier: two are there at once.
TEST(Copies, ComeOneSplitAheadOfTheWork) {
  constexpr uint64_t kWeightBytes = 256 * 256 * 4;
  FakeRuntime runtime(R"({"devices": 2, "async": true, "max_delay_us": 300, "detect_conflicts": true})");
  GraphMaker maker(6);
  TensorId x = maker.input({1, 256});
  SessionOptions options;
  for (int i = 0; i < 6; ++i) {
    x = maker.op(Op::kMATMUL, {x, maker.weight({256, 256})}, {}, "n" + std::to_string(i));
    options.plan.pins.emplace_back("n" + std::to_string(i), 0);
  }
  maker.output(x);
  const GeneratedGraph generated = maker.finish();
  options.plan.weights_device = 1;
  options.plan.staging_bytes = kWeightBytes;
  options.check_races = true;
  const auto session = Session::prepare(*runtime, generated.graph, {}, options).value();
  const Plan& plan = session->plan();
  ASSERT_EQ(plan.splits.size(), 6u);
  int seen = 0;
  for (const Task& task : plan.tasks) {
    if (!task.is_copy || !plan.graph->is_constant(plan.copies[task.index].storage)) continue;
    ++seen;
    const uint32_t split = plan.copies[task.index].split;
    std::vector<uint32_t> awaited;
    for (uint32_t i = 0; i < task.wait_count; ++i) {
      const Task& other = plan.tasks[plan.waits[task.first_wait + i]];
      EXPECT_FALSE(other.is_copy);
      awaited.push_back(other.index);
    }
    EXPECT_EQ(awaited, split < 2 ? std::vector<uint32_t>() : std::vector<uint32_t>{split - 2}) << "split " << split;
  }
  EXPECT_EQ(seen, 6);
  EXPECT_GE(pool_bytes(plan, PoolKind::arena, 0), 2 * kWeightBytes);
  EXPECT_LT(pool_bytes(plan, PoolKind::arena, 0), 3 * kWeightBytes);
  expect_right(*session, generated, 5);
  EXPECT_EQ(fake_conflict(*runtime.devices()[0]), "");
}

// ---- memory

// What is in flight more often is what the host writes and reads, and nothing else.
TEST(Memory, OnlyInputsAndOutputsGrowWithTheDepth) {
  FakeRuntime runtime(R"({"devices": 2, "async": true})");
  const auto graph = adding_chain(40, {64, 64});
  const auto bytes_at = [&](uint32_t depth) {
    SessionOptions options(in_turn(40, 2));
    options.plan.pipelined = true;
    options.pipeline_depth = depth;
    const auto session = Session::prepare(*runtime, graph, {}, options).value();
    EXPECT_EQ(session->pipeline_depth(), depth);
    return live_bytes(runtime);
  };
  PlanOptions options = in_turn(40, 2);
  options.pipelined = true;
  const uint64_t ports = pool_bytes(*make_plan(graph, runtime.devices(), options).value(), PoolKind::ports);
  const uint64_t one = bytes_at(1);
  EXPECT_GE(ports, 2u * 64 * 64 * 4);
  EXPECT_EQ(bytes_at(2), one + ports);
  EXPECT_EQ(bytes_at(4), one + 3 * ports);
}

// All splits of a device have one arena: it does not grow with their number.
TEST(Memory, SplitsOfADeviceShareIt) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto peak = [&](int length) {
    const auto plan = make_plan(adding_chain(length, {64, 64}), runtime.devices(), in_turn(length, 2)).value();
    return pool_bytes(*plan, PoolKind::arena, 0);
  };
  EXPECT_GT(peak(6), 0u);
  EXPECT_EQ(peak(60), peak(6));
}

// To plan is to say how much memory it takes, without taking any, and without counting any twice.
TEST(Memory, ThePlanSaysWhatIsAllocatedAndAllocatesNothing) {
  for (const bool host : {false, true}) {
    SCOPED_TRACE(host);
    FakeRuntime runtime(host ? R"({"devices": 2, "memory": "host"})" : R"({"devices": 2})");
    const auto running = Session::prepare(*runtime, adding_chain(2), {}, in_turn(2, 2)).value();
    const uint64_t before = live_bytes(runtime);
    reset_fakes(runtime.devices());
    const auto graph = adding_chain(9, {64, 64});
    const auto plan = make_plan(graph, runtime.devices(), in_turn(9, 2)).value();
    EXPECT_EQ(calls(runtime, BP_FAKE_ALLOCATE), 0u);
    EXPECT_EQ(live_bytes(runtime), before);
    ASSERT_TRUE(run_once(*running, {{"x", small_value(1)}}).ok());
    EXPECT_EQ(first_of(running->output("y")), 3);
    const auto session = Session::prepare(*runtime, graph, {}, in_turn(9, 2)).value();
    // Devices of host memory read the constants of the graph where they are.
    EXPECT_EQ(live_bytes(runtime) - before, pool_bytes(*plan, PoolKind::arena) + pool_bytes(*plan, PoolKind::ports) +
                                                (host ? 0 : plan->weight_bytes));
  }
}

// Two graphs that need buffers of other sizes, the sum being the same: each buffer grows for itself.
TEST(Memory, BuffersGrowEachForItself) {
  FakeRuntime runtime(R"({"devices": 1, "max_buffer_bytes": 32768})");
  const auto graph = [](const Shape& first, const Shape& second) {
    GraphMaker maker(7);
    const TensorId a = maker.op(Op::kNEG, {maker.input(first)}), b = maker.op(Op::kNEG, {maker.input(second)});
    maker.output(maker.op(Op::kADD, {a, a}));
    maker.output(maker.op(Op::kADD, {b, b}));
    return maker.finish();
  };
  const GeneratedGraph graphs[] = {graph({7000}, {3000}), graph({3000}, {7000}), graph({5000}, {5000})};
  const auto session = Session::prepare(*runtime, graphs[0].graph).value();
  for (int turn = 0; turn < 9; ++turn) {
    ASSERT_TRUE(session->use(graphs[turn % 3].graph).ok());
    expect_right(*session, graphs[turn % 3]);
  }
}

// A graph that needs more memory comes while others are in flight: theirs is not freed under them.
TEST(Memory, GrowsOnlyWhenNothingUsesIt) {
  FakeRuntime runtime(R"({"devices": 2, "async": true, "max_delay_us": 500, "detect_conflicts": true})");
  SessionOptions options(in_turn(4, 2));
  options.pipeline_depth = 3;
  const auto session = Session::prepare(*runtime, adding_chain(4), {}, options).value();
  for (int64_t width = 3; width < 4000; width *= 4) {
    ASSERT_TRUE(session->use(adding_chain(4)).ok());
    ASSERT_TRUE(session->set_input("x", small_value(1)).ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(session->submit().ok());
    const auto larger = adding_chain(4, {2, width});
    ASSERT_TRUE(session->use(larger).ok());
    ASSERT_TRUE(run_once(*session, {{"x", HostTensor::zeros(DType::kI32, {2, width}).value()}}).ok());
    EXPECT_EQ(first_of(session->output("y")), 4);
  }
  EXPECT_EQ(fake_conflict(*runtime.devices()[0]), "");
}

// An early output that no node reads again keeps its memory to the end.
TEST(Memory, AnOutputThatNobodyReadsKeepsItsValue) {
  FakeRuntime runtime(R"({"devices": 2, "supports": "alternate"})");
  GraphMaker maker(8);
  const TensorId x = maker.input({8, 8});
  maker.output(maker.op(Op::kADD, {x, x}));
  TensorId y = x;
  for (int i = 0; i < 12; ++i) y = i % 2 == 0 ? maker.op(Op::kNEG, {y}) : maker.op(Op::kADD, {y, x});
  maker.output(y);
  const GeneratedGraph generated = maker.finish();
  expect_right(*Session::prepare(*runtime, generated.graph).value(), generated, 2);
}

}  // namespace
}  // namespace backplane::testing
