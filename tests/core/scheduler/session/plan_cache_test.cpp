// Graphs that take turns in one session.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_device.hpp"
#include "fake_runtime.hpp"
#include "small_graphs.hpp"

namespace backplane {
namespace {

using testing::accumulator;
using testing::adding_chain;
using testing::FakeRuntime;
using testing::first_of;
using testing::small_value;

HostTensor filled(std::vector<int64_t> shape, int32_t value) {
  HostTensor tensor = HostTensor::zeros(DType::kI32, std::move(shape)).value();
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.mutable_data<int32_t>()[i] = value;
  return tensor;
}

int32_t run(Session& session, const HostTensor& x) {
  EXPECT_TRUE(session.set_input("x", x).ok());
  const Status status = session.run();
  EXPECT_TRUE(status.ok()) << status.to_string();
  return first_of(session.output("y"));
}

TEST(PlanCache, TwoShapesInTurnArePlannedOnce) {
  FakeRuntime runtime(R"({"devices": 2})");
  const auto session = Session::prepare(*runtime, adding_chain(3)).value();
  const auto large = adding_chain(3, {64, 64});
  const auto small = adding_chain(3);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(session->use(large).ok());
    EXPECT_EQ(run(*session, filled({64, 64}, i)), i + 3);
    ASSERT_TRUE(session->use(small).ok());
    EXPECT_EQ(run(*session, small_value(-i)), 3 - i);
  }
  EXPECT_EQ(session->totals().plans_made, 2u);
  EXPECT_EQ(session->totals().plan_hits, 19u);
  const uint64_t growths = session->totals().arena_growths;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(session->use(large).ok());
    ASSERT_TRUE(session->use(small).ok());
  }
  EXPECT_EQ(session->totals().arena_growths, growths);
}

// The same nodes and sizes with another edge must not be run by the old plan (ggml's silent wrong result).
TEST(PlanCache, AnotherEdgeIsAnotherPlan) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto graph = [](bool skip) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    const TensorId a = builder.op(Op::kNEG, {x}).value();
    const TensorId b = builder.op(Op::kADD, {a, x}).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kSUB, {b, skip ? x : a}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(false)).value();
  EXPECT_EQ(run(*session, small_value(5)), 5);
  ASSERT_TRUE(session->use(graph(true)).ok());
  EXPECT_EQ(run(*session, small_value(5)), -5);
  EXPECT_EQ(session->totals().plans_made, 2u);
}

// What a graph is made by, to change one thing at a time.
struct Recipe {
  std::vector<int64_t> shape = {2, 3};
  Op op = Op::kSUB;
  bool swapped = false, input_twice = false, state = false, second_output = false;
  int64_t axis = 0, start = 0;
  int32_t constant = 1;
  std::string name = "sum";
};

// y = reduce_sum(op(a row of x, c))
std::shared_ptr<const Graph> make(const Recipe& recipe) {
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kI32, recipe.shape).value();
  const TensorId row = builder.slice(x, 0, recipe.start, 1).value();
  const std::vector<int64_t> row_shape = {1, recipe.shape[1]};
  const TensorId other = recipe.input_twice ? row
                         : recipe.state     ? builder.state("c", DType::kI32, row_shape).value()
                                            : builder.constant(filled(row_shape, recipe.constant), "c").value();
  std::vector<TensorId> operands = {row, other};
  if (recipe.swapped) std::ranges::reverse(operands);
  const TensorId mixed = builder.op(recipe.op, operands, {}, "mixed").value();
  const AttrList axes = {{BP_ATTR_AXES, std::vector<int64_t>{recipe.axis}}};
  EXPECT_TRUE(builder.output(builder.op(Op::kREDUCE_SUM, {mixed}, axes, recipe.name).value(), "y").ok());
  if (recipe.second_output) {
    EXPECT_TRUE(builder.output(mixed, "m").ok());
  }
  return builder.finish().value();
}

std::vector<Recipe> changed_recipes() {
  std::vector<Recipe> recipes(10);
  recipes[1].shape = {3, 3};
  recipes[2].shape = {2, 4};
  recipes[3].op = Op::kADD;
  recipes[4].swapped = true;
  recipes[5].input_twice = true;
  recipes[6].state = true;
  recipes[7].second_output = true;
  recipes[8].axis = 1;
  recipes[9].start = 1;
  return recipes;
}

// A plan is used again exactly for graphs of the same structure, whatever is changed (invariant 25).
TEST(PlanCache, AnyChangeOfTheStructureIsAnotherPlanAndNothingElseIs) {
  FakeRuntime runtime(R"({"devices": 2})");
  const std::vector<Recipe> recipes = changed_recipes();
  SessionOptions options;
  options.cached_plans = static_cast<uint32_t>(2 * recipes.size());  // other constants take a place of their own
  const auto session = Session::prepare(*runtime, make(recipes[0]), {}, options).value();
  for (size_t i = 1; i < recipes.size(); ++i) {
    ASSERT_TRUE(session->use(make(recipes[i])).ok()) << i;
    EXPECT_EQ(session->totals().plans_made, i + 1);
  }
  for (Recipe recipe : recipes) {
    ASSERT_TRUE(session->use(make(recipe)).ok());
    recipe.constant = 5;
    if (!recipe.state) recipe.name = "another";  // states are known by name
    ASSERT_TRUE(session->use(make(recipe)).ok());
  }
  EXPECT_EQ(session->totals().plans_made, recipes.size());
  EXPECT_EQ(session->totals().plan_hits, 2 * recipes.size());
}

// Where nodes are pinned, or weights located, by name, other names are another plan.
TEST(PlanCache, NamesCountWhereThePlanDependsOnThem) {
  FakeRuntime runtime(R"({"devices": 2})");
  Recipe renamed;
  renamed.name = "another";
  PlanOptions pinned, located;
  pinned.pins = {{"mixed", 1}};
  located.locations = {{"c", 1}};
  for (const PlanOptions& options : {pinned, located, PlanOptions()}) {
    const auto session = Session::prepare(*runtime, make({}), {}, options).value();
    ASSERT_TRUE(session->use(make(renamed)).ok());
    ASSERT_TRUE(session->use(make({})).ok());
    EXPECT_EQ(session->totals().plans_made, options == PlanOptions() ? 1u : 2u);
  }
}

uint64_t compile_calls(const FakeRuntime& runtime, uint32_t device) {
  return testing::fake_counters(*runtime.devices()[device]).calls[BP_FAKE_COMPILE];
}

// The plan that gives way to one of other shapes leaves it its programs, if they can be adapted.
TEST(PlanCache, ProgramsAreAdaptedToOtherShapes) {
  for (const bool update : {true, false}) {
    SCOPED_TRACE(update);
    FakeRuntime runtime(update ? R"({"devices": 2})" : R"({"devices": 2, "update": false})");
    SessionOptions options(testing::in_turn(4, 2));
    options.cached_plans = 2;
    const auto session = Session::prepare(*runtime, adding_chain(4), {}, options).value();
    EXPECT_EQ(compile_calls(runtime, 0), 2u);
    ASSERT_TRUE(session->use(adding_chain(4, {4, 4})).ok());
    EXPECT_EQ(compile_calls(runtime, 0), 4u);
    EXPECT_EQ(run(*session, filled({4, 4}, 1)), 5);
    testing::reset_fakes(runtime.devices());
    ASSERT_TRUE(session->use(adding_chain(4, {64, 5})).ok());  // the first one gives way
    for (const uint32_t device : {0u, 1u}) {
      EXPECT_EQ(compile_calls(runtime, device), update ? 2u : 4u);
      EXPECT_EQ(testing::fake_counters(*runtime.devices()[device]).live_programs, 4u);
    }
    EXPECT_EQ(run(*session, filled({64, 5}, 2)), 6);
    ASSERT_TRUE(session->use(adding_chain(4, {4, 4})).ok());
    EXPECT_EQ(run(*session, filled({4, 4}, 3)), 7);
    ASSERT_TRUE(session->use(adding_chain(4)).ok());
    EXPECT_EQ(run(*session, small_value(4)), 8);
    EXPECT_EQ(session->totals().plans_made, 4u);
  }
}

// A program is never asked to become one of other nodes: it need not look at them.
TEST(PlanCache, ProgramsAreNotAdaptedToOtherNodes) {
  FakeRuntime runtime(R"({"devices": 1, "update": false})");
  for (const Recipe& recipe : changed_recipes()) {
    const bool only_shapes = recipe.shape != Recipe().shape || recipe.start != 0;
    SessionOptions options;
    options.cached_plans = 2;
    const auto session = Session::prepare(*runtime, make({}), {}, options).value();
    ASSERT_TRUE(session->use(adding_chain(7)).ok());
    testing::reset_fakes(runtime.devices());
    ASSERT_TRUE(session->use(make(recipe)).ok());
    if (session->totals().plans_made == 2) continue;  // the recipe itself
    EXPECT_EQ(compile_calls(runtime, 0), only_shapes ? 2u : 1u);
  }
}

TEST(PlanCache, OtherConstantsInTheSameStructureAreNotMixedUp) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto graph = [](int32_t constant) {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    const TensorId c = builder.constant(small_value(constant)).value();
    EXPECT_TRUE(builder.output(builder.op(Op::kADD, {x, c}).value(), "y").ok());
    return builder.finish().value();
  };
  const auto session = Session::prepare(*runtime, graph(10)).value();
  EXPECT_EQ(run(*session, small_value(1)), 11);
  ASSERT_TRUE(session->use(graph(20)).ok());
  EXPECT_EQ(run(*session, small_value(1)), 21);
  EXPECT_EQ(session->totals().plans_made, 1u);  // the structure is planned once
}

TEST(PlanCache, TheLeastUsedPlanGivesWay) {
  FakeRuntime runtime(R"({"devices": 1})");
  SessionOptions options;
  options.cached_plans = 2;
  const auto session = Session::prepare(*runtime, adding_chain(1), {}, options).value();
  ASSERT_TRUE(session->use(adding_chain(2)).ok());
  ASSERT_TRUE(session->use(adding_chain(1)).ok());
  EXPECT_EQ(session->totals().plans_made, 2u);
  ASSERT_TRUE(session->use(adding_chain(3)).ok());  // takes the place of the second
  ASSERT_TRUE(session->use(adding_chain(1)).ok());
  EXPECT_EQ(session->totals().plans_made, 3u);
  ASSERT_TRUE(session->use(adding_chain(2)).ok());
  EXPECT_EQ(session->totals().plans_made, 4u);
  EXPECT_EQ(run(*session, small_value(0)), 2);
}

TEST(PlanCache, StatesOfOneNameAreOneState) {
  FakeRuntime runtime(R"({"devices": 2})");
  SessionOptions options;
  options.plan.locations = {{"sum", 1}};
  const auto session = Session::prepare(*runtime, accumulator(), {}, options).value();
  EXPECT_EQ(run(*session, small_value(3)), 3);
  const auto doubling = [] {
    GraphBuilder builder;
    const TensorId x = builder.input("x", DType::kI32, testing::kSmallShape).value();
    const TensorId sum = builder.state("sum", DType::kI32, testing::kSmallShape).value();
    const TensorId twice = builder.op(Op::kADD, {sum, sum}).value();
    const TensorId next = builder.op(Op::kADD, {twice, x}).value();
    EXPECT_TRUE(builder.output(builder.node_into(sum, Op::kCOPY, std::vector<TensorId>{next}).value(), "y").ok());
    return builder.finish().value();
  }();
  ASSERT_TRUE(session->use(doubling).ok());
  EXPECT_EQ(run(*session, small_value(0)), 6);
  ASSERT_TRUE(session->use(accumulator()).ok());
  EXPECT_EQ(run(*session, small_value(1)), 7);
}

TEST(PlanCache, AStateOfAnotherSizeIsRefusedAndTheGraphStays) {
  FakeRuntime runtime(R"({"devices": 1})");
  const auto session = Session::prepare(*runtime, accumulator()).value();
  EXPECT_EQ(run(*session, small_value(3)), 3);
  GraphBuilder builder;
  const TensorId sum = builder.state("sum", DType::kI32, std::vector<int64_t>{5}).value();
  ASSERT_TRUE(builder.output(builder.op(Op::kNEG, {sum}).value(), "y").ok());
  EXPECT_EQ(session->use(builder.finish().value()).id(), "session.state-size");
  EXPECT_EQ(run(*session, small_value(3)), 6);
}

TEST(PlanCache, AGraphThatDoesNotFitLeavesTheOldOneRunning) {
  FakeRuntime runtime(R"({"devices": 1, "memory_limit_bytes": 65536})");
  const auto session = Session::prepare(*runtime, adding_chain(2)).value();
  EXPECT_EQ(session->use(adding_chain(2, {1 << 20})).code(), Code::resource_exhausted);
  EXPECT_EQ(run(*session, small_value(1)), 3);
  EXPECT_EQ(session->use(nullptr).code(), Code::invalid_argument);
  ASSERT_TRUE(session->use(adding_chain(3)).ok());
  EXPECT_EQ(session->run().id(), "session.input-unset");
  EXPECT_EQ(run(*session, small_value(1)), 4);
}

}  // namespace
}  // namespace backplane
