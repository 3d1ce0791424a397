#include "evaluation.hpp"

namespace backplane::reference {
namespace {

const AttrList kNoEpsilon{{BP_ATTR_EPSILON, 0.0}};

TEST(ReferenceBatchNorm, Formula) {
  const HostTensor x = f32({1, 2, 2}, {1, 3, 10, 20});
  const auto y = output(Op::kBATCH_NORM, {x, f32({2}, {1, 2}), f32({2}, {0, 1}), f32({2}, {1, 10}), f32({2}, {3, 24})},
                        {{BP_ATTR_EPSILON, 1.0}});
  EXPECT_EQ(values<float>(y), (std::vector<float>{0, 1, 1, 5}));
}

// Two elements are always one standard deviation from their mean.
TEST(ReferenceInstanceNorm, EachChannelAlone) {
  const auto y =
      output(Op::kINSTANCE_NORM, {f32({1, 2, 2}, {1, 3, 20, 10}), f32({2}, {1, 2}), f32({2}, {0, 5})}, kNoEpsilon);
  EXPECT_EQ(values<float>(y), (std::vector<float>{-1, 1, 7, 3}));
}

TEST(ReferenceGroupNorm, GroupsOfChannels) {
  AttrList attrs = kNoEpsilon;
  attrs.set(BP_ATTR_NUM_GROUPS, int64_t{2});
  const auto y =
      output(Op::kGROUP_NORM, {f32({1, 4, 1}, {1, 3, 8, 4}), f32({4}, {1, 2, 3, 4}), f32({4}, {0, 0, 0, 1})}, attrs);
  EXPECT_EQ(values<float>(y), (std::vector<float>{-1, 2, 3, -3}));
}

TEST(ReferenceLayerNorm, ScaleAndBiasBroadcast) {
  AttrList attrs = kNoEpsilon;
  attrs.set(BP_ATTR_AXIS, int64_t{1});
  const HostTensor x = f32({2, 2}, {1, 3, 8, 4});
  EXPECT_EQ(values<float>(output(Op::kLAYER_NORM, {x, f32({2}, {1, 10}), f32({1}, {5})}, attrs)),
            (std::vector<float>{4, 15, 6, -5}));
  attrs.set(BP_ATTR_AXIS, int64_t{0});
  // Mean 4, variance (9 + 1 + 16 + 0) / 4.
  expect_near(output(Op::kLAYER_NORM, {x, f32({}, {1})}, attrs), {-1.1766968f, -0.3922323f, 1.5689291f, 0});
}

TEST(ReferenceLayerNorm, EpsilonKeepsConstantsFinite) {
  const AttrList attrs{{BP_ATTR_AXIS, int64_t{0}}};
  expect_same(values<float>(output(Op::kLAYER_NORM, {f32({2}, {3, 3}), f32({2}, {1, 1})}, attrs)), {0, 0});
}

TEST(ReferenceRmsNorm, DividesByTheRootMeanSquare) {
  AttrList attrs = kNoEpsilon;
  attrs.set(BP_ATTR_AXIS, int64_t{1});
  expect_near(output(Op::kRMS_NORM, {f32({1, 2}, {3, 4}), f32({2}, {1, 2})}, attrs), {0.8485281f, 2.2627418f});
}

TEST(ReferenceSoftmax, AlongAnAxisAndStable) {
  const AttrList axis0{{BP_ATTR_AXIS, int64_t{0}}}, axis1{{BP_ATTR_AXIS, int64_t{1}}};
  const HostTensor x = f32({2, 2}, {0, 1000, std::log(3.f), 1000});
  expect_near(output(Op::kSOFTMAX, {x}, axis0), {0.25f, 0.5f, 0.75f, 0.5f});
  expect_same(values<float>(output(Op::kSOFTMAX, {f32({1, 2}, {-1000, 1000})}, axis1)), {0, 1});
  expect_same(values<float>(output(Op::kLOG_SOFTMAX, {f32({1, 2}, {-1000, 1000})}, axis1)), {-2000, 0});
  expect_near(output(Op::kLOG_SOFTMAX, {f32({2}, {5, 5})}, axis0), {-0.6931472f, -0.6931472f});
  expect_same(values<float>(output(Op::kSOFTMAX, {f32({2}, {kNan, 1})}, axis0)), {kNan, kNan});
}

TEST(ReferenceHardmax, FirstMaximum) {
  EXPECT_EQ(values<float>(output(Op::kHARDMAX, {f32({2, 3}, {1, 3, 3, 2, 0, -1})}, {{BP_ATTR_AXIS, int64_t{1}}})),
            (std::vector<float>{0, 1, 0, 1, 0, 0}));
}

}  // namespace
}  // namespace backplane::reference
