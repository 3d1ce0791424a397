// Lowerings to several ops: what ONNX's own test data leaves out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "one_node.hpp"

namespace backplane::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

std::vector<int64_t> integers(const HostTensor& x) { return {x.data<int64_t>(), x.data<int64_t>() + x.elements()}; }

std::vector<float> einsum(const char* equation, const HostTensor& x, const HostTensor& w) {
  return floats(run_case({13, "Einsum", {{"equation", std::string(equation)}}, {{"w", w}}}, x)[0]);
}

TEST(OnnxArithmetic, OldOpsetsLineUpAtAnAxis) {
  const HostTensor x = f32s({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<AttributeDef> at_0{{"broadcast", int64_t{1}}, {"axis", int64_t{0}}};
  EXPECT_THAT(floats(run_case({6, "Sub", at_0, {{"b", f32s({2}, {1, 4})}}}, x)[0]), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(floats(run_case({6, "Mul", {{"broadcast", int64_t{1}}}, {{"b", f32s({3}, {1, 0, 2})}}}, x)[0]),
              ElementsAre(1, 0, 6, 4, 0, 12));
  EXPECT_THAT(floats(run_case({6, "PRelu", {}, {{"slope", f32s({2}, {2, 3})}}}, f32s({1, 2, 1}, {-1, -1}))[0]),
              ElementsAre(-2, -3));
}

TEST(OnnxArithmetic, OldOpsetsDoNotBroadcastUnasked) {
  Model model{"", 6, "", {}};
  model.graph = {
      {make_node("Add", {"x", "b"}, {"y"})}, {{"b", f32s({1}, {1})}}, {make_input("x", DType::kF32, {2})}, {"y"}};
  EXPECT_THAT(import_model(model).status().message(), HasSubstr("'broadcast' is not set"));
}

TEST(OnnxArithmetic, EinsumContractsTransposesAndSums) {
  const HostTensor x = f32s({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(einsum("ij,jk->ik", x, f32s({2, 2}, {1, 0, 1, 1})), ElementsAre(3, 2, 7, 4));
  EXPECT_THAT(einsum("ij,kj->ki", x, f32s({1, 2}, {1, 10})), ElementsAre(21, 43));
  EXPECT_THAT(einsum("ij,ij", x, x), ElementsAre(30));  // implicit: nothing appears once
  EXPECT_THAT(einsum("ba,b", x, f32s({2}, {1, 10})), ElementsAre(31, 42));
  EXPECT_THAT(einsum("ii,i->i", x, f32s({2}, {1, 10})), ElementsAre(1, 40));
  EXPECT_THAT(einsum("i...,j->...ij", x, f32s({1}, {2})), ElementsAre(2, 6, 4, 8));
  EXPECT_THAT(einsum("ij,k->", x, f32s({2}, {1, 1})), ElementsAre(20));
}

TEST(OnnxArithmetic, EinsumRefusesWhatDoesNotFit) {
  const auto refusal = [](const char* equation) {
    Model model{"", 13, "", {}};
    model.graph = {{make_node("Einsum", {"x"}, {"y"}, {{"equation", std::string(equation)}})},
                   {},
                   {make_input("x", DType::kF32, {2, 3})},
                   {"y"}};
    return import_model(model).status().message();
  };
  EXPECT_THAT(refusal("ijk->i"), HasSubstr("does not fit"));
  EXPECT_THAT(refusal("ii->i"), HasSubstr("one name and differ"));
  EXPECT_THAT(refusal("ij->ik"), HasSubstr("twice or only there"));
  EXPECT_THAT(refusal("ij,jk->ik"), HasSubstr("2 terms for 1 inputs"));
}

TEST(OnnxArithmetic, DetPivots) {
  const auto det = [](const HostTensor& x) { return floats(run_case({11, "Det", {}, {}}, x)[0]); };
  EXPECT_THAT(det(f32s({2, 2, 2}, {0, 1, 1, 0, 1, 2, 2, 4})), ElementsAre(-1, 0));
  EXPECT_THAT(det(f32s({3, 3}, {2, 0, 1, 4, 1, 1, 0, 3, 5})), ElementsAre(FloatNear(16, 1e-4f)));
}

TEST(OnnxArithmetic, TopKTakesItsKFromAnAttributeFirst) {
  const HostTensor x = f32s({3}, {1, 3, 2});
  const auto old = run_case({9, "TopK", {{"k", int64_t{2}}}, {}, 2}, x);
  EXPECT_THAT(floats(old[0]), ElementsAre(3, 2));
  EXPECT_THAT(integers(old[1]), ElementsAre(1, 2));
  EXPECT_THAT(floats(run_case({11, "TopK", {{"largest", int64_t{0}}}, {{"k", i64s({1}, {1})}}, 2}, x)[0]),
              ElementsAre(1));
}

TEST(OnnxArithmetic, LossesLeaveIgnoredTargetsOut) {
  const HostTensor x = f32s({3, 2}, {-1, -2, -3, -4, -5, -6});
  const std::vector<AttributeDef> ignore{{"ignore_index", int64_t{9}}};
  EXPECT_THAT(floats(run_case({13, "NegativeLogLikelihoodLoss", ignore, {{"t", i64s({3}, {0, 9, 1})}}}, x)[0]),
              ElementsAre(3.5f));
  const std::vector<AttributeDef> sum{{"reduction", std::string("sum")}};
  EXPECT_THAT(
      floats(run_case({13, "NegativeLogLikelihoodLoss", sum, {{"t", i64s({3}, {0, 0, 1})}, {"w", f32s({2}, {1, 10})}}},
                      x)[0]),
      ElementsAre(64));
}

TEST(OnnxArithmetic, RoiAlignTakesTheLargestTap) {
  const HostTensor x = f32s({1, 1, 2, 2}, {1, 2, 3, 4});
  const Case c{16,
               "RoiAlign",
               {{"mode", std::string("max")},
                {"sampling_ratio", int64_t{1}},
                {"coordinate_transformation_mode", std::string("output_half_pixel")}},
               {{"rois", f32s({1, 4}, {0, 0, 1, 1})}, {"batch", i64s({1}, {0})}}};
  EXPECT_THAT(floats(run_case(c, x)[0]), ElementsAre(1));  // at (0.5, 0.5) each tap counts a quarter; 4 is the largest
}

TEST(OnnxArithmetic, LpPoolSumsPowers) {
  const HostTensor x = f32s({1, 1, 3}, {3, -4, 12});
  const std::vector<AttributeDef> window{{"kernel_shape", Ints{2}}, {"pads", Ints{1, 0}}};
  EXPECT_THAT(floats(run_case({18, "LpPool", window, {}}, x)[0]),
              ElementsAre(FloatNear(3, 1e-5f), FloatNear(5, 1e-5f), FloatNear(std::sqrt(160.f), 1e-4f)));
}

TEST(OnnxArithmetic, Col2ImAddsOverlappingBlocks) {
  // Two taps at three positions of an image of 3 with one element of padding before it.
  const HostTensor x = f32s({1, 2, 3}, {1, 2, 3, 10, 20, 30});
  const Case c{18, "Col2Im", {{"pads", Ints{1, 0}}}, {{"image", i64s({1}, {3})}, {"block", i64s({1}, {2})}}};
  EXPECT_THAT(floats(run_case(c, x)[0]), ElementsAre(12, 23, 30));
  const HostTensor columns = f32s({1, 4, 1}, {1, 2, 3, 4});
  const Case square{18, "Col2Im", {}, {{"image", i64s({2}, {2, 2})}, {"block", i64s({2}, {2, 2})}}};
  EXPECT_THAT(floats(run_case(square, columns)[0]), ElementsAre(1, 2, 3, 4));
}

TEST(OnnxArithmetic, DftOfAnImpulseIsFlatAndComesBack) {
  const HostTensor x = f32s({1, 3, 1}, {1, 0, 0});
  EXPECT_THAT(floats(run_case({17, "DFT", {}, {}}, x)[0]), ElementsAre(1, 0, 1, 0, 1, 0));
  const HostTensor flat = f32s({1, 2, 2}, {1, 0, 1, 0});
  EXPECT_THAT(floats(run_case({17, "DFT", {{"inverse", int64_t{1}}}, {}}, flat)[0]), ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(run_case({17, "DFT", {{"onesided", int64_t{1}}}, {{"length", i64s({}, {4})}}}, x)[0].shape(),
            (Ints{1, 3, 2}));
}

TEST(OnnxArithmetic, BatchNormInTrainingGivesRunningStatistics) {
  const HostTensor x = f32s({2, 1, 2}, {0, 2, 4, 6});
  const Case c{15,
               "BatchNormalization",
               {{"training_mode", int64_t{1}}, {"momentum", 0.5}, {"epsilon", 0.0}},
               {{"s", f32s({1}, {1})}, {"b", f32s({1}, {0})}, {"m", f32s({1}, {1})}, {"v", f32s({1}, {3})}},
               3};
  const auto made = run_case(c, x);
  EXPECT_THAT(floats(made[1]), ElementsAre(2));
  EXPECT_THAT(floats(made[2]), ElementsAre(4));
  EXPECT_THAT(floats(made[0])[0], FloatNear(-3 / std::sqrt(5.f), 1e-6f));
}

}  // namespace
}  // namespace backplane::onnx_import
