#include "scheduler/memory/in_place.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "backplane/graph/builder.hpp"
#include "backplane/scheduler/plan.hpp"
#include "fake_runtime.hpp"

namespace backplane::testing {
namespace {

class InPlace : public ::testing::Test {
 protected:
  TensorId input(std::string name = "x") { return builder_.input(name, DType::kI32, kShape).value(); }
  TensorId op(Op kind, const std::vector<TensorId>& operands, std::string name = "") {
    return builder_.op(kind, operands, {}, name).value();
  }
  Plan plan(TensorId result, const PlanOptions& options = {}, const char* world = R"({"devices": 1})") {
    EXPECT_TRUE(builder_.output(result, "y").ok());
    runtime_.emplace(world);
    graph_ = builder_.finish().value();
    return *make_plan(graph_, runtime_->devices(), options).value();
  }
  // The tensor whose memory `result` takes over on a device, or kNone.
  TensorId taken_over(const Plan& plan, TensorId result, uint32_t device = 0) {
    const Residence* residence = plan.residence(graph_->storage_of(result), device);
    return residence->in_place_of == kNone ? kNone : graph_->storage(residence->in_place_of).root;
  }

  const std::vector<int64_t> kShape = {4, 4};
  GraphBuilder builder_;
  std::optional<FakeRuntime> runtime_;
  std::shared_ptr<const Graph> graph_;
};

uint64_t arena_bytes(const Plan& plan) {
  uint64_t bytes = 0;
  for (const Pool& pool : plan.pools)
    if (pool.kind == PoolKind::arena) bytes += pool.peak_bytes;
  return bytes;
}

TEST_F(InPlace, AChainIsOneBlock) {
  const TensorId a = op(Op::kNEG, {input()}), b = op(Op::kNEG, {a}), c = op(Op::kNEG, {b});
  const Plan made = plan(op(Op::kNEG, {c}));
  EXPECT_EQ(taken_over(made, a), kNone) << "graph inputs keep their memory";
  EXPECT_EQ(taken_over(made, b), a);
  EXPECT_EQ(taken_over(made, c), b);
  EXPECT_EQ(made.residence(graph_->storage_of(c), 0)->offset, made.residence(graph_->storage_of(a), 0)->offset);
  EXPECT_EQ(arena_bytes(made), 64u);
}

TEST_F(InPlace, OptionsTurnItOff) {
  const TensorId a = op(Op::kNEG, {input()}), b = op(Op::kNEG, {a});
  PlanOptions options;
  options.in_place = false;
  const Plan made = plan(op(Op::kNEG, {b}), options);
  EXPECT_EQ(taken_over(made, b), kNone);
  EXPECT_EQ(arena_bytes(made), 128u);
  options = {};
  options.reuse_memory = false;
  EXPECT_EQ(make_plan(graph_, runtime_->devices(), options).value()->residence(graph_->storage_of(b), 0)->in_place_of,
            kNone);
}

TEST_F(InPlace, AnOperandThatIsReadLaterIsLeftAlone) {
  const TensorId a = op(Op::kNEG, {input()}), b = op(Op::kABS, {a}), c = op(Op::kADD, {a, b});
  const Plan made = plan(op(Op::kNEG, {c}));
  EXPECT_EQ(taken_over(made, b), kNone);
  EXPECT_EQ(taken_over(made, c), a) << "the first of two that may be";
}

TEST_F(InPlace, AnOperandMayBeThereTwice) {
  const TensorId a = op(Op::kNEG, {input()}), b = op(Op::kADD, {a, a});
  const Plan made = plan(op(Op::kNEG, {b}));
  EXPECT_EQ(taken_over(made, b), a);
}

TEST_F(InPlace, AnOperandMayBeAViewOfAll) {
  const TensorId a = op(Op::kNEG, {input()}), row = builder_.reshape(a, std::vector<int64_t>{16}).value();
  const TensorId b = op(Op::kNEG, {row});
  const Plan made = plan(op(Op::kNEG, {b}));
  EXPECT_EQ(taken_over(made, b), a);
}

TEST_F(InPlace, AnOperandThatIsAViewOfAPartIsLeftAlone) {
  const TensorId a = op(Op::kNEG, {input()});
  const TensorId part = builder_.slice(a, 0, 0, 2).value();
  const TensorId b = op(Op::kNEG, {part});
  const Plan made = plan(op(Op::kNEG, {b}));
  EXPECT_EQ(taken_over(made, b), kNone);
}

TEST_F(InPlace, AnOperandThatIsAlsoSeenDifferentlyIsLeftAlone) {
  const TensorId a = op(Op::kNEG, {input()});
  const std::vector<int64_t> order = {1, 0};
  const TensorId turned = builder_.permute(a, order).value();
  const TensorId b = op(Op::kADD, {a, turned});
  const Plan made = plan(op(Op::kNEG, {b}));
  EXPECT_EQ(taken_over(made, b), kNone);
}

TEST_F(InPlace, KernelsThatDoNotAllowItAreNotAskedTo) {
  const TensorId a = op(Op::kNEG, {input()}), b = op(Op::kMATMUL, {a, a});
  const Plan made = plan(op(Op::kNEG, {b}));
  EXPECT_EQ(taken_over(made, b), kNone);
  const Plan forbidden = *make_plan(graph_, FakeRuntime(R"({"devices": 1, "in_place": false})").devices()).value();
  for (const Residence& residence : forbidden.residences) EXPECT_EQ(residence.in_place_of, kNone);
}

TEST_F(InPlace, AnOperandThatIsCopiedLaterIsLeftAlone) {
  const TensorId a = op(Op::kNEG, {input()}, "a"), b = op(Op::kABS, {a}, "b");
  const TensorId elsewhere = op(Op::kNEG, {a}, "elsewhere");
  PlanOptions options;
  options.pins = {{"a", 0}, {"b", 0}, {"elsewhere", 1}, {"end", 1}};
  const Plan made = plan(op(Op::kADD, {b, elsewhere}, "end"), options, R"({"devices": 2, "async": true})");
  EXPECT_EQ(taken_over(made, b, 0), kNone);
}

// The copy is known to be done as soon as the split behind the cut begins, which is no use to the node before it.
TEST_F(InPlace, AnOperandThatIsStillBeingCopiedIsLeftAlone) {
  const TensorId a = op(Op::kNEG, {input()}, "a"), away = op(Op::kNEG, {a}, "away"), b = op(Op::kABS, {a}, "b");
  PlanOptions options;
  options.pins = {{"a", 0}, {"away", 1}, {"b", 0}, {"end", 0}};
  options.cuts = {2};
  const Plan made = plan(op(Op::kADD, {b, away}, "end"), options, R"({"devices": 2, "1-async": true})");
  ASSERT_EQ(made.splits.size(), 4u);
  EXPECT_EQ(taken_over(made, b, 0), kNone);
}

TEST_F(InPlace, GraphOutputsKeepTheirMemory) {
  const TensorId a = op(Op::kNEG, {input()}), b = op(Op::kNEG, {a});
  ASSERT_TRUE(builder_.output(a, "a").ok());
  const Plan made = plan(op(Op::kNEG, {b}));
  EXPECT_EQ(taken_over(made, b), kNone);
}

}  // namespace
}  // namespace backplane::testing
