// Lowerings, above all where opsets differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
TEST(OnnxLowering, SqueezeAxesAreAnAttributeThenAnInput) {
  const HostTensor x = f32s({1, 2, 1}, {1, 2});
  EXPECT_EQ(run_case({11, "Squeeze", {{"axes", Ints{0}}}, {}}, x)[0].shape(), (Ints{2, 1}));
  EXPECT_EQ(run_case({13, "Squeeze", {}, {{"axes", i64s({1}, {-1})}}}, x)[0].shape(), (Ints{1, 2}));
  EXPECT_EQ(run_case({13, "Squeeze", {}, {}}, x)[0].shape(), (Ints{2}));
}

TEST(OnnxLowering, UnsqueezeCountsAxesInTheResult) {
  const HostTensor x = f32s({2}, {1, 2});
  EXPECT_EQ(run_case({11, "Unsqueeze", {{"axes", Ints{2, 0}}}, {}}, x)[0].shape(), (Ints{1, 2, 1}));
  EXPECT_EQ(run_case({13, "Unsqueeze", {}, {{"axes", i64s({1}, {-1})}}}, x)[0].shape(), (Ints{2, 1}));
}

TEST(OnnxLowering, OldSoftmaxTakesAllAxesFromItsAxisOn) {
  const HostTensor x = f32s({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(floats(run_case({11, "Softmax", {}, {}}, x)[0]),
              ElementsAre(FloatEq(0.25f), FloatEq(0.25f), FloatEq(0.25f), FloatEq(0.25f)));
  EXPECT_THAT(floats(run_case({13, "Softmax", {{"axis", int64_t{1}}}, {}}, x)[0]),
              ElementsAre(FloatEq(0.5f), FloatEq(0.5f), FloatEq(0.5f), FloatEq(0.5f)));
}

TEST(OnnxLowering, ClipLimitsAreAttributesThenInputs) {
  const HostTensor x = f32s({3}, {-5, 0.5f, 5});
  EXPECT_THAT(floats(run_case({10, "Clip", {{"min", -1.0}, {"max", 2.0}}, {}}, x)[0]), ElementsAre(-1, 0.5f, 2));
  EXPECT_THAT(floats(run_case({11, "Clip", {}, {{"lo", f32s({}, {0})}}}, x)[0]), ElementsAre(0, 0.5f, 5));
}

TEST(OnnxLowering, ReduceAxesAreAnAttributeThenAnInput) {
  const HostTensor x = f32s({2, 2}, {1, 2, 3, 4});
  const std::vector<AttributeDef> flat{{"axes", Ints{1}}, {"keepdims", int64_t{0}}};
  EXPECT_THAT(floats(run_case({17, "ReduceMean", flat, {}}, x)[0]), ElementsAre(1.5f, 3.5f));
  EXPECT_THAT(floats(run_case({11, "ReduceSum", flat, {}}, x)[0]), ElementsAre(3, 7));
  EXPECT_THAT(floats(run_case({18, "ReduceMean", {}, {{"axes", i64s({1}, {0})}}}, x)[0]), ElementsAre(2, 3));
  EXPECT_THAT(floats(run_case({13, "ReduceSum", {}, {}}, x)[0]), ElementsAre(10));
  EXPECT_THAT(floats(run_case({13, "ReduceSum", {{"noop_with_empty_axes", int64_t{1}}}, {}}, x)[0]),
              ElementsAre(1, 2, 3, 4));
}

TEST(OnnxLowering, SliceTakesAttributesThenInputsAndRunsBackwards) {
  const HostTensor x = f32s({5}, {0, 1, 2, 3, 4});
  EXPECT_THAT(floats(run_case({9, "Slice", {{"starts", Ints{1}}, {"ends", Ints{-1}}}, {}}, x)[0]),
              ElementsAre(1, 2, 3));
  const auto sliced = [&](int64_t start, int64_t end, int64_t step) {
    return floats(run_case(
        {13,
         "Slice",
         {},
         {{"s", i64s({1}, {start})}, {"e", i64s({1}, {end})}, {"a", i64s({1}, {0})}, {"p", i64s({1}, {step})}}},
        x)[0]);
  };
  EXPECT_THAT(sliced(0, INT64_MAX, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(sliced(-1, INT64_MIN, -1), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(sliced(3, 0, -2), ElementsAre(3, 1));
  EXPECT_THAT(sliced(4, 2, 1), ElementsAre());
}

TEST(OnnxLowering, PadCropsWhereNegative) {
  const HostTensor x = f32s({3}, {1, 2, 3});
  EXPECT_THAT(floats(run_case({13, "Pad", {}, {{"pads", i64s({2}, {-1, 2})}, {"v", f32s({}, {9})}}}, x)[0]),
              ElementsAre(2, 3, 9, 9));
  EXPECT_THAT(floats(run_case({10, "Pad", {{"pads", Ints{1, 0}}, {"value", 7.0}}, {}}, x)[0]), ElementsAre(7, 1, 2, 3));
  EXPECT_THAT(floats(run_case({13, "Pad", {{"mode", std::string("reflect")}}, {{"pads", i64s({2}, {1, 1})}}}, x)[0]),
              ElementsAre(2, 1, 2, 3, 2));
}

TEST(OnnxLowering, SplitMayEndShorterSinceOpset18) {
  const auto parts = run_case({18, "Split", {{"num_outputs", int64_t{2}}}, {}, 2}, f32s({3}, {1, 2, 3}));
  EXPECT_THAT(floats(parts[0]), ElementsAre(1, 2));
  EXPECT_THAT(floats(parts[1]), ElementsAre(3));
  const auto given = run_case({13, "Split", {}, {{"split", i64s({2}, {1, 2})}}, 2}, f32s({3}, {1, 2, 3}));
  EXPECT_THAT(floats(given[1]), ElementsAre(2, 3));
}

TEST(OnnxLowering, GemmTransposesItsOperands) {
  const Case gemm{13, "Gemm", {{"transB", int64_t{1}}, {"alpha", 2.0}}, {{"b", f32s({2, 3}, {1, 0, 0, 0, 1, 0})}}};
  EXPECT_THAT(floats(run_case(gemm, f32s({1, 3}, {1, 2, 3}))[0]), ElementsAre(2, 4));
}

TEST(OnnxLowering, AutoPadKeepsTheExtent) {
  const HostTensor x = f32s({1, 1, 4}, {1, 2, 3, 4});
  const auto conv = [&](const char* side) {
    return floats(run_case({13, "Conv", {{"auto_pad", std::string(side)}}, {{"w", f32s({1, 1, 2}, {1, 10})}}}, x)[0]);
  };
  EXPECT_THAT(conv("SAME_UPPER"), ElementsAre(21, 32, 43, 4));
  EXPECT_THAT(conv("SAME_LOWER"), ElementsAre(10, 21, 32, 43));
}

TEST(OnnxLowering, ConvTransposeReachesTheGivenOutputShape) {
  const HostTensor x = f32s({1, 1, 2}, {1, 2});
  const auto shape = [&](Ints wanted) {
    return run_case({13,
                     "ConvTranspose",
                     {{"strides", Ints{2}}, {"output_shape", std::move(wanted)}},
                     {{"w", f32s({1, 1, 3}, {1, 1, 1})}}},
                    x)[0]
        .shape();
  };
  EXPECT_EQ(shape({4}), (Ints{1, 1, 4}));
  EXPECT_EQ(shape({6}), (Ints{1, 1, 6}));
}

TEST(OnnxLowering, UpsampleScalesAreAnAttributeThenAnInput) {
  const HostTensor x = f32s({1, 1, 2}, {1, 2});
  EXPECT_THAT(floats(run_case({7, "Upsample", {{"scales", std::vector<double>{1, 1, 2}}}, {}}, x)[0]),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(floats(run_case({9, "Upsample", {}, {{"s", f32s({3}, {1, 1, 2})}}}, x)[0]), ElementsAre(1, 1, 2, 2));
}

TEST(OnnxLowering, GroupNormalizationOfOpset18HasOneScaleAGroup) {
  const HostTensor x = f32s({1, 4, 2}, {1, -1, 1, -1, 1, -1, 1, -1});
  const std::vector<AttributeDef> attributes{{"num_groups", int64_t{2}}, {"epsilon", 0.0}};
  EXPECT_THAT(floats(run_case(
                  {18, "GroupNormalization", attributes, {{"s", f32s({2}, {1, 3})}, {"b", f32s({2}, {0, 0})}}}, x)[0]),
              ElementsAre(1, -1, 1, -1, 3, -3, 3, -3));
  EXPECT_THAT(
      floats(run_case(
          {21, "GroupNormalization", attributes, {{"s", f32s({4}, {1, 2, 3, 4})}, {"b", f32s({4}, {0, 0, 0, 0})}}},
          x)[0]),
      ElementsAre(1, -1, 2, -2, 3, -3, 4, -4));
}

TEST(OnnxLowering, DropoutPassesDataAndSaysSo) {
  const auto made = run_case({13, "Dropout", {}, {}, 2}, f32s({2}, {1, 2}));
  EXPECT_THAT(floats(made[0]), ElementsAre(1, 2));
  ASSERT_EQ(made[1].dtype(), DType::kBOOL);
  EXPECT_EQ(made[1].data<uint8_t>()[1], 1);
}

}  // namespace
}  // namespace backplane::onnx_import
