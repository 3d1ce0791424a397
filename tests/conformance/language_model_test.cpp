// What language models are made of, over several runs and devices: a cache of keys and values, which set_rows updates
// and attention reads, and experts of which each run wants a few. Against the reference.
#include <gtest/gtest.h>

#include "backplane/graph/builder.hpp"
#include "backplane/reference/reference.hpp"
#include "backplane/runtime/runtime.hpp"
#include "backplane/scheduler/session.hpp"
#include "compare.hpp"
#include "random.hpp"

namespace backplane::testing {
namespace {

constexpr int64_t kHeads = 4, kKeyHeads = 2, kDepth = 8, kRoom = 16;

HostTensor step_keys(Random& random, int64_t count) {
  return random.tensor(DType::kF32, {1, kKeyHeads, count, kDepth}, Values::unit);
}

HostTensor integers(Shape shape, int64_t first) {
  HostTensor values = HostTensor::zeros(DType::kI64, std::move(shape)).value();
  for (int64_t i = 0; i < values.elements(); ++i) values.mutable_data<int64_t>()[i] = first + i;
  return values;
}

std::string put_node(const char* name) { return std::string("put_") + name; }

// One step: `count` tokens are put into the cache, and look at all that is there.
std::shared_ptr<const Graph> step_graph(int64_t count) {
  GraphBuilder builder;
  const Shape cache_shape{1, kKeyHeads, kRoom, kDepth}, new_shape{1, kKeyHeads, count, kDepth};
  const TensorId q = builder.input("q", DType::kF32, Shape{1, kHeads, count, kDepth}).value();
  const TensorId at = builder.input("at", DType::kI64, Shape{count}).value();
  const TensorId past = builder.input("past", DType::kI64, Shape{}).value();
  TensorId caches[2];
  for (int i = 0; i < 2; ++i) {
    const char* name = i == 0 ? "k" : "v";
    const TensorId rows = builder.input(name, DType::kF32, new_shape).value();
    const TensorId cache = builder.state(std::string(name) + "_cache", DType::kF16, cache_shape).value();
    caches[i] =
        builder.node_into(cache, Op::kSET_ROWS, std::vector<TensorId>{cache, rows, at}, {}, put_node(name)).value();
  }
  const TensorId y =
      builder.op(Op::kATTENTION, {q, caches[0], caches[1], kNone, past}, {{BP_ATTR_CAUSAL, int64_t{1}}}, "attend")
          .value();
  EXPECT_TRUE(builder.output(y, "y").ok());
  return builder.finish().value();
}

HostTensor evaluated(Op op, const std::vector<HostTensor>& inputs, const AttrList& attrs) {
  return reference::evaluate(op, inputs, attrs).value()[0];
}

HostTensor through_f16(const HostTensor& x) {
  const AttrList narrow = {{BP_ATTR_TO, static_cast<int64_t>(DType::kF16)}};
  return evaluated(Op::kCAST, {evaluated(Op::kCAST, {x}, narrow)}, {{BP_ATTR_TO, static_cast<int64_t>(DType::kF32)}});
}

// Devices are island0, with memory of its own, and cpu0.
class LanguageModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RuntimeOptions options;
    options.plugin_paths = {PLUGIN_FOLDER, ISLAND_FOLDER};
    options.search_system = false;
    options.worker_count = 2;
    runtime_ = Runtime::open(std::move(options)).value();
  }
  std::unique_ptr<Session> prepare(std::shared_ptr<const Graph> graph, SessionOptions options) {
    std::vector<Device*> devices = {runtime_->device("island0").value(), runtime_->device("cpu0").value()};
    auto session = Session::prepare(*runtime_, std::move(graph), devices, options);
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return std::move(session).value();
  }
  void expect_steps_see_the_cache(const SessionOptions& options);

  std::unique_ptr<Runtime> runtime_;
};

void LanguageModelTest::expect_steps_see_the_cache(const SessionOptions& options) {
  Random random(5);
  const auto session = prepare(step_graph(3), options);
  HostTensor keys, values;
  for (int64_t past = 0; past + 3 <= kRoom; past += 3) {
    const HostTensor q = random.tensor(DType::kF32, {1, kHeads, 3, kDepth}, Values::unit);
    const HostTensor k = step_keys(random, 3), v = step_keys(random, 3);
    ASSERT_TRUE(session->set_input("q", q).ok());
    ASSERT_TRUE(session->set_input("k", k).ok());
    ASSERT_TRUE(session->set_input("v", v).ok());
    ASSERT_TRUE(session->set_input("at", integers({3}, past)).ok());
    ASSERT_TRUE(session->set_input("past", integers({}, past)).ok());
    const Status run = session->run();
    ASSERT_TRUE(run.ok()) << run.to_string();
    const AttrList axis = {{BP_ATTR_AXIS, int64_t{2}}};
    keys = past == 0 ? through_f16(k) : evaluated(Op::kCONCAT, {keys, through_f16(k)}, axis);
    values = past == 0 ? through_f16(v) : evaluated(Op::kCONCAT, {values, through_f16(v)}, axis);
    const HostTensor wanted =
        evaluated(Op::kATTENTION, {q, keys, values, {}, integers({}, past)}, {{BP_ATTR_CAUSAL, int64_t{1}}});
    EXPECT_EQ(difference(session->output("y").value(), wanted, {.ulps = 4, .absolute = 1e-6}), "") << past;
  }
}

TEST_F(LanguageModelTest, StepsSeeAllThatWasPutIntoTheCache) {
  SessionOptions options;
  options.check_races = true;
  options.plan.locations = {{"k_cache", 1}, {"v_cache", 1}};
  expect_steps_see_the_cache(options);
}

TEST_F(LanguageModelTest, TheCacheMayBeElsewhere) {
  SessionOptions options;
  options.check_races = true;
  options.plan.locations = {{"k_cache", 1}, {"v_cache", 0}};
  options.plan.pins = {{put_node("k"), 0}, {put_node("v"), 1}, {"attend", 0}};
  expect_steps_see_the_cache(options);
}

TEST_F(LanguageModelTest, ABadIndexLeavesTheCacheAsItWas) {
  Random random(6);
  const auto session = prepare(step_graph(1), {});
  const auto step = [&](const HostTensor& kv, int64_t at, int64_t past) {
    for (const char* name : {"k", "v"}) EXPECT_TRUE(session->set_input(name, kv).ok());
    EXPECT_TRUE(session->set_input("q", random.tensor(DType::kF32, {1, kHeads, 1, kDepth}, Values::unit)).ok());
    EXPECT_TRUE(session->set_input("at", integers({1}, at)).ok());
    EXPECT_TRUE(session->set_input("past", integers({}, past)).ok());
    return session->run();
  };
  const HostTensor first = step_keys(random, 1), second = step_keys(random, 1);
  ASSERT_TRUE(step(first, 0, 0).ok());
  EXPECT_EQ(code_name(step(second, kRoom, 0).code()), "out_of_range");
  ASSERT_TRUE(step(second, 5, 0).ok());  // somewhere else: the first row is all that is seen
  const Shape heads{1, kHeads, 1, kDepth};
  GraphBuilder builder;
  const TensorId x = builder.input("x", DType::kF32, first.shape()).value();
  const TensorId twice =
      builder
          .broadcast(builder.reshape(x, Shape{1, kKeyHeads, 1, 1, kDepth}).value(), Shape{1, kKeyHeads, 2, 1, kDepth})
          .value();
  EXPECT_TRUE(builder.output(builder.reshape(twice, heads).value(), "y").ok());
  const auto wanted = reference::run(*builder.finish().value(), {{"x", through_f16(first)}});
  ASSERT_TRUE(wanted.ok()) << wanted.status().to_string();
  EXPECT_EQ(difference(session->output("y").value(), (*wanted)[0], {.ulps = 4, .absolute = 1e-6}), "");
}

// y = x · experts[ids], the experts on cpu0, the product on island0.
TEST_F(LanguageModelTest, OnlyTheExpertsThatARunWantsAreCopied) {
  constexpr int64_t kExperts = 8, kColumns = 3, kSum = 64;
  Random random(7);
  const HostTensor experts = random.tensor(DType::kQ8_0, {kExperts, kColumns, kSum}, Values::moderate);
  const HostTensor x = random.tensor(DType::kF32, {2, 1, kSum}, Values::unit);
  GraphBuilder builder;
  const TensorId rows = builder.input("x", DType::kF32, x.shape()).value();
  const TensorId ids = builder.input("ids", DType::kI32, Shape{2, 2}).value();
  const TensorId weight = builder.constant(experts, "experts").value();
  EXPECT_TRUE(builder.output(builder.op(Op::kMATMUL_ID, {rows, weight, ids}, {}, "moe").value(), "y").ok());
  SessionOptions options;
  options.check_races = true;
  options.plan.soft_weights = false;
  options.plan.locations = {{"experts", 1}};
  options.plan.pins = {{"moe", 0}};
  const auto session = prepare(builder.finish().value(), options);
  ASSERT_TRUE(session->set_input("x", x).ok());
  for (const std::vector<int32_t>& chosen : {std::vector<int32_t>{5, 1, 1, 5}, {7, 7, -1, 7}}) {
    const HostTensor given = HostTensor::of<int32_t>(DType::kI32, {2, 2}, chosen);
    ASSERT_TRUE(session->set_input("ids", given).ok());
    const Status run = session->run();
    ASSERT_TRUE(run.ok()) << run.to_string();
    EXPECT_EQ(difference(session->output("y").value(), evaluated(Op::kMATMUL_ID, {x, experts, given}, {}),
                         {.ulps = 4, .absolute = 1e-4}),
              "");
    const uint64_t expert_bytes = experts.bytes().size() / kExperts, others = x.bytes().size() + given.bytes().size();
    EXPECT_EQ(session->statistics().copied_bytes, expert_bytes * (chosen[0] == 5 ? 2 : 1) + others);
  }
}

}  // namespace
}  // namespace backplane::testing
