#include <gtest/gtest.h>

#include <set>

#include "fake_runtime.hpp"
#include "random_graph.hpp"
#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/plan.hpp"

namespace backplane {
namespace {

using testing::FakeRuntime;

// y = neg(x + w), planned; its placements can be made to be anything.
struct World {
  FakeRuntime runtime{R"({"devices": 2})"};
  Plan plan;
  std::string d0 = runtime.devices()[0]->name(), d1 = runtime.devices()[1]->name();
  TensorId w = kNone;

  World() {
    GraphBuilder builder;
    const std::vector<int64_t> shape = {4, 8};
    const TensorId x = builder.input("x", DType::kI32, shape).value();
    const TensorId weight = builder.constant(HostTensor::zeros(DType::kI32, shape).value(), "w").value();
    const TensorId sum = builder.op(Op::kADD, {x, weight}, {}, "sum").value();
    EXPECT_TRUE(builder.output(builder.op(Op::kNEG, {sum}).value(), "y").ok());
    plan = *make_plan(builder.finish().value(), runtime.devices()).value();
    for (TensorId id = 0; id < plan.graph->tensor_count(); ++id)
      if (plan.graph->tensor_name(id) == "w") w = id;
  }

  std::string why(Placement placement) {
    plan.placements[0] = placement;
    return plan.explain(0);
  }
};

TEST(PlanExplain, NamesWhatDecided) {
  World world;
  const TensorId w = world.w, sum = world.plan.graph->node_outputs(0)[0];
  const std::string on = "on " + world.d1 + ", ";
  using C = Cause;
  EXPECT_EQ(world.why({.device = 1, .cause = C::pin}), on + "where it is pinned");
  EXPECT_EQ(world.why({.device = 1, .cause = C::weight, .because = w}), on + "where its weight 'w' is");
  EXPECT_EQ(world.why({.device = 1, .cause = C::location, .because = w}), on + "where 'w' is, which it reads");
  EXPECT_EQ(world.why({.device = 1, .cause = C::location, .because = sum}), on + "where 'sum' is, which it writes");
  EXPECT_EQ(world.why({.device = 1, .cause = C::offload, .because = w}),
            on + "which prefers to run it although its weight 'w' is elsewhere");
  EXPECT_EQ(world.why({.device = 1, .cause = C::expand_up, .because = 1}), on + "to stay with node 1 (neg) after it");
  EXPECT_EQ(world.why({.device = 1, .cause = C::min_cut, .because = 1}),
            on + "beside node 1 (neg), so that less crosses between devices");
  EXPECT_EQ(world.why({.device = 1, .cause = C::fallback}), on + "the first device that runs it");
}

TEST(PlanExplain, EveryCauseHasASentenceOfItsOwn) {
  World world;
  std::set<std::string> sentences;
  for (int cause = 0; cause <= static_cast<int>(Cause::fallback); ++cause) {
    const std::string sentence = world.why({.device = 0, .cause = static_cast<Cause>(cause)});
    EXPECT_TRUE(sentences.insert(sentence).second) << sentence;
    EXPECT_EQ(sentence.find("no reason"), std::string::npos) << cause;
    EXPECT_EQ(sentence.find("  "), std::string::npos) << sentence;
  }
}

TEST(PlanExplain, SaysWhatTheNextBestWouldCost) {
  World world;
  const auto why = [&](int64_t saved) {
    return world.why({.device = 0, .cause = Cause::pin, .because = kNone, .runner_up = 1, .saved_ns = saved});
  };
  const std::string start = "on " + world.d0 + ", where it is pinned; on " + world.d1 + " it would cost ";
  EXPECT_EQ(why(999), start + "999 ns more");
  EXPECT_EQ(why(12'340), start + "12.3 us more");
  EXPECT_EQ(why(-2'500'000), start + "2.5 ms less");
  EXPECT_EQ(why(0), start + "the same");
  EXPECT_EQ(world.why({.device = 0, .cause = Cause::pin, .verdict = BP_VERDICT_SLOW}),
            "on " + world.d0 + ", where it is pinned, slow as it is there");
}

}  // namespace
}  // namespace backplane
