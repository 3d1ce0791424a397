#include "backplane/graph/inference.hpp"

#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

TEST(Inference, BroadcastFollowsNumPy) {
  EXPECT_EQ(broadcast_shapes(Shape{4, 1, 3}, Shape{5, 1}).value(), (Shape{4, 5, 3}));
  EXPECT_EQ(broadcast_shapes(Shape{}, Shape{2}).value(), Shape{2});
  EXPECT_EQ(broadcast_shapes(Shape{0}, Shape{1}).value(), Shape{0});
  const auto refused = broadcast_shapes(Shape{2, 3}, Shape{2});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("[2, 3] and [2]"), std::string::npos);
  EXPECT_FALSE(broadcast_shapes(Shape{0}, Shape{2}).ok());
}

TEST(Inference, ReservedAndUnknownOpsAreUnimplemented) {
  for (Op op : {Op::kLRN, Op::kTRILU, static_cast<Op>(77)}) {
    const auto specs = infer(op, Inputs{f32({1})}, {});
    ASSERT_FALSE(specs.ok());
    EXPECT_EQ(specs.status().code(), Code::unimplemented);
  }
}

TEST(Inference, Arity) {
  expect_refusal(Op::kADD, {f32({1})}, {}, "2 inputs");
  expect_refusal(Op::kADD, {f32({1}), f32({1}), f32({1})}, {}, "but has 3");
  expect_refusal(Op::kADD, {f32({1}), std::nullopt}, {}, "input 1 is missing");
  expect_refusal(Op::kADD, {std::nullopt, f32({1})}, {}, "input 0 is missing");
}

TEST(Inference, AttributesThatTheOpDoesNotKnowOrOfAnotherType) {
  expect_refusal(Op::kRELU, {f32({1})}, {{BP_ATTR_ALPHA, real(1)}}, "no attribute alpha");
  expect_refusal(Op::kRELU, {f32({1})}, {{60000, real(1)}}, "60000");
  expect_refusal(Op::kSOFTMAX, {f32({1})}, {{BP_ATTR_AXIS, real(0)}}, "axis has a value of the wrong type");
}

TEST(Inference, MessagesNameEveryInput) {
  expect_refusal(Op::kADD, {f32({2, 3}), i64({4})}, {}, "inputs: f32 [2, 3], i64 [4]");
  expect_refusal(Op::kCLIP, {f32({2}), std::nullopt, f32({3})}, {}, "inputs: f32 [2], absent, f32 [3]");
}

TEST(Inference, InputsWithImpossibleShapes) {
  expect_refusal(Op::kRELU, {f32({-1})}, {}, "negative extent");
  expect_refusal(Op::kRELU, {f32({int64_t{1} << 40, int64_t{1} << 40})}, {}, "2^63");
}

TEST(Inference, OutputsThatOverflow) {
  constexpr int64_t kBig = int64_t{1} << 35;
  expect_refusal(Op::kADD, {f32({kBig, 1}), f32({1, kBig})}, {}, "2^63");
}

// Every op that docs/spec/ops.md defines must have a rule; the reserved ones must not.
TEST(Inference, DefinedOps) {
  const Inputs none;
  size_t defined = 0;
#define BP_OP(NAME, id, name, version) \
  if (infer(Op::k##NAME, none, {}).status().code() == Code::invalid_argument) ++defined;
#include "backplane/abi/ops.def"
#undef BP_OP
  EXPECT_EQ(defined, 13u + 43 + 24 + 15 + 4 + 19 + 3);
}

}  // namespace
}  // namespace backplane
