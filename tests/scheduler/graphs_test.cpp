// Graphs, pins and plans that come again, change, or are odd. README.md says which rows these tests are for.
#include <gtest/gtest.h>

#include "row_checks.hpp"

namespace backplane::testing {
namespace {

// One graph, prepared again and again by two sessions, several deep: it never changes, nor does the plan.
TEST(Graphs, AreScheduledAgainAndAgainAndNeverTouched) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto graph = adding_chain(6);
  const auto other = adding_chain(5);
  const std::string before = graph_text(*graph);
  SessionOptions options(in_turn(5, 2));
  options.pipeline_depth = 2;
  const auto first = Session::prepare(*runtime, graph, {}, options).value();
  const auto second = Session::prepare(*runtime, graph, {}, options).value();
  const std::string plan = first->plan().to_json().dump();
  for (int32_t turn = 0; turn < 3; ++turn) {
    for (Session* session : {first.get(), second.get()}) {
      ASSERT_TRUE(session->use(other).ok());
      ASSERT_TRUE(session->use(graph).ok());
      EXPECT_EQ(session->plan().to_json().dump(), plan);
      ASSERT_TRUE(run_once(*session, {{"x", small_value(turn)}}).ok());
      EXPECT_EQ(first_of(session->output("y")), turn + 6);
    }
  }
  EXPECT_EQ(graph_text(*graph), before);
}

// The plan of a graph is that of a graph, not of all that came before it.
TEST(Graphs, ArePlannedAlikeWhateverCameBefore) {
  FakeRuntime runtime(R"({"devices": 3, "supports": "alternate"})");
  GraphMaker maker(9);
  std::vector<TensorId> parts;
  for (int i = 0; i < 30; ++i) parts.push_back(maker.op(Op::kNEG, {maker.input({4, 4})}));
  maker.output(maker.concat(parts, 0));
  const GeneratedGraph wide = maker.finish();
  const auto graph = adding_chain(12);
  const std::string wanted = make_plan(graph, runtime.devices()).value()->to_json().dump();
  const auto session = Session::prepare(*runtime, wide.graph).value();
  expect_right(*session, wide);
  ASSERT_TRUE(session->use(graph).ok());
  EXPECT_EQ(session->plan().to_json().dump(), wanted);
}

TEST(Graphs, AskingAboutAPlanChangesNothing) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto plan = make_plan(adding_chain(6), runtime.devices(), in_turn(6, 2)).value();
  const std::string before = plan->to_json().dump();
  for (NodeId node = 0; node < plan->graph->node_count(); ++node) EXPECT_FALSE(plan->explain(node).empty());
  for (StorageId storage = 0; storage < plan->graph->storage_count(); ++storage)
    for (const uint32_t device : {0u, 1u, 2u, kNone}) static_cast<void>(plan->residence(storage, device));
  EXPECT_EQ(plan->to_json().dump(), before);
}

// Pins are of every graph and every plan of it, those that recovery makes too.
TEST(Graphs, PinsHoldInEachAndAfterASetback) {
  FakeRuntime runtime(R"({"devices": 3, "0-fail_submit_at": 3, "fail_code": -3})");
  const PlanOptions options = pinned({{"n1", 2}, {"n2", 1}});
  const auto expect_pinned = [](const Plan& plan) {
    EXPECT_EQ(plan.placements[1].device, 2u);
    EXPECT_EQ(plan.placements[2].device, 1u);
    EXPECT_EQ(plan.placements[1].cause, Cause::pin);
  };
  const auto session = Session::prepare(*runtime, adding_chain(4), {}, options).value();
  for (int turn = 0; turn < 4; ++turn) {
    const int length = 4 + turn % 2;
    ASSERT_TRUE(session->use(adding_chain(length)).ok());
    expect_pinned(session->plan());
    ASSERT_TRUE(run_once(*session, {{"x", small_value(0)}}).ok());
    EXPECT_EQ(first_of(session->output("y")), length);
    expect_pinned(session->plan());
  }
}

TEST(Graphs, APinToADeviceThatCannotIsAnError) {
  FakeRuntime runtime(R"({"devices": 2, "1-deny": "add"})");
  const Status status = make_plan(adding_chain(2), runtime.devices(), pinned({{"n1", 1}})).status();
  EXPECT_EQ(status.id(), "plan.pin-unsupported");
  EXPECT_NE(status.message().find("n1"), std::string::npos) << status.message();
}

// A device that refuses one shape keeps the others: what is remembered is the node with its shapes.
TEST(Graphs, ARefusalOfOneShapeSaysNothingOfAnother) {
  FakeRuntime runtime(R"({"devices": 2, "0-fail_submit_at": 1, "fail_code": -3})");
  const auto large = adding_chain(1, {2, 30}), small = adding_chain(1);
  const auto session = Session::prepare(*runtime, large).value();
  const auto run_on = [&](const std::shared_ptr<const Graph>& graph, int64_t width, uint32_t device) {
    ASSERT_TRUE(session->use(graph).ok());
    ASSERT_TRUE(run_once(*session, {{"x", HostTensor::zeros(DType::kI32, {2, width}).value()}}).ok());
    EXPECT_EQ(first_of(session->output("y")), 1);
    EXPECT_EQ(session->plan().placements[0].device, device);
    EXPECT_EQ(session->plan().splits.size(), 1u);
  };
  run_on(large, 30, 1);
  run_on(small, 3, 0);
  run_on(large, 30, 1);
  EXPECT_EQ(session->totals().recoveries, 1u);
}

// Inputs that nobody reads, or only through views; states that nobody writes.
TEST(Graphs, LeavesOfEveryKindAreLegal) {
  FakeRuntime runtime(R"({"devices": 2, "supports": "alternate"})");
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
  ASSERT_TRUE(builder.input("idle", DType::kI32, kSmallShape).ok());
  const TensorId state = builder.state("state", DType::kI32, kSmallShape).value();
  ASSERT_TRUE(builder.state("unread", DType::kI32, kSmallShape).ok());
  const TensorId left = builder.slice(x, 1, 0, 1).value(), right = builder.slice(x, 1, 2, 1).value();
  const TensorId sum = builder.op(Op::kADD, {left, right}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kADD, {sum, builder.slice(state, 1, 1, 1).value()}).value(), "y").ok());
  const auto graph = builder.finish().value();
  const auto session = Session::prepare(*runtime, graph).value();
  const std::map<std::string, HostTensor> inputs = {{"x", small_values({1, 2, 3, 4, 5, 6})}, {"idle", small_value(0)}};
  for (int turn = 0; turn < 3; ++turn) {
    ASSERT_TRUE(session->use(turn == 1 ? adding_chain(2) : graph).ok());
    ASSERT_TRUE(run_once(*session, turn == 1 ? std::map<std::string, HostTensor>{{"x", small_value(1)}} : inputs).ok());
    EXPECT_EQ(first_of(session->output("y")), turn == 1 ? 3 : 4);
  }
}

// Nothing has a size at which a table is just full.
TEST(Graphs, OfEverySizeArePlanned) {
  FakeRuntime runtime(R"({"devices": 2})");
  for (int length = 1; length <= 70; ++length) {
    const auto plan = make_plan(adding_chain(length), runtime.devices(), in_turn(length, 2));
    ASSERT_TRUE(plan.ok()) << length << ": " << plan.status().to_string();
    ASSERT_EQ((*plan)->splits.size(), static_cast<size_t>(length));
  }
}

TEST(Graphs, OfNothingButEmptyTensorsRun) {
  FakeRuntime runtime(R"({"devices": 2})");
  GraphMaker maker(10);
  const TensorId a = maker.op(Op::kNEG, {maker.input({0, 3})}, {}, "a");
  maker.output(maker.op(Op::kADD, {a, a}, {}, "b"));
  const GeneratedGraph generated = maker.finish();
  expect_right(*Session::prepare(*runtime, generated.graph, {}, pinned({{"a", 0}, {"b", 1}})).value(), generated, 2);
}

// The same leaf is an input in one graph and a constant in the next.
TEST(Graphs, ALeafMayBecomeAConstant) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto graph = [](bool constant) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
    const TensorId w =
        constant ? builder.constant(small_value(7), "w").value() : builder.input("w", DType::kI32, kSmallShape).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kADD, {x, w}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(false)).value();
  for (int32_t turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(session->use(graph(turn % 2 == 1)).ok());
    ASSERT_TRUE(session->set_input("x", small_value(turn)).ok());
    if (turn % 2 == 0) {
      ASSERT_TRUE(session->set_input("w", small_value(100)).ok());
    }
    ASSERT_TRUE(session->run().ok());
    EXPECT_EQ(first_of(session->output("y")), turn + (turn % 2 == 1 ? 7 : 100));
  }
}

// One constant in two graphs that take turns: neither spoils it for the other.
TEST(Graphs, MayShareAConstant) {
  FakeRuntime runtime(R"({"devices": 1})");
  const HostTensor shared = small_value(50);
  const auto graph = [&](Op op) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, kSmallShape).value();
    const TensorId w = builder.constant(shared, "w").value();
    EXPECT_TRUE(builder.output(builder.op(op, {builder.op(Op::kNEG, {w}).value(), x}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(Op::kADD)).value();
  for (int32_t turn = 0; turn < 4; ++turn) {
    ASSERT_TRUE(session->use(graph(turn % 2 == 0 ? Op::kADD : Op::kSUB)).ok());
    ASSERT_TRUE(run_once(*session, {{"x", small_value(3)}}).ok());
    EXPECT_EQ(first_of(session->output("y")), turn % 2 == 0 ? -47 : -53);
  }
}

// An output that is the input itself, in one shape and then in another.
TEST(Graphs, AnOutputThatIsAnInputTakesEveryShape) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto graph = [](int64_t width) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, std::vector<int64_t>{width}).value();
    EXPECT_TRUE(builder.output(x, "same").ok());
    EXPECT_TRUE(builder.output(builder.op(Op::kNEG, {x}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(3)).value();
  for (const int64_t width : {3, 500, 7, 500}) {
    ASSERT_TRUE(session->use(graph(width)).ok());
    std::vector<int32_t> list(static_cast<size_t>(width), static_cast<int32_t>(width));
    ASSERT_TRUE(run_once(*session, {{"x", HostTensor::of<int32_t>(DType::kI32, {width}, list)}}).ok());
    EXPECT_EQ(list_of(session->output("same").value()), list);
    EXPECT_EQ(list_of(session->output("y").value()).back(), -width);
  }
}

}  // namespace
}  // namespace backplane::testing
