#include "evaluation.hpp"

namespace backplane::reference {
namespace {

std::vector<float> apply(Op op, std::vector<float> x, const AttrList& attrs = {}) {
  const auto count = static_cast<int64_t>(x.size());
  return values<float>(output(op, {f32({count}, std::move(x))}, attrs));
}

TEST(ReferenceShrink, FractionalSumOfIntegersTruncatesAndWraps) {
  EXPECT_EQ(values<uint8_t>(output(Op::kSHRINK, {u8({3}, {48, 1, 0})}, {{BP_ATTR_BIAS, 2.5}})),
            (std::vector<uint8_t>{45, 255, 0}));
}

TEST(ReferenceUnary, SignsAndMagnitudes) {
  expect_same(apply(Op::kABS, {-1.5f, -0.f, -kInf, kNan}), {1.5f, 0, kInf, kNan});
  expect_same(apply(Op::kNEG, {1, -0.f, kInf, kNan}), {-1, 0, -kInf, kNan});
  expect_same(apply(Op::kSIGN, {-3, 0, 1e-30f, kNan, -kInf}), {-1, 0, 1, kNan, -1});
}

TEST(ReferenceUnary, RoundIsHalfToEven) {
  expect_same(apply(Op::kROUND, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.4999f, kInf}), {0, 2, 2, -0.f, -2, 2, kInf});
  expect_same(apply(Op::kFLOOR, {-0.5f, 1.9f, kNan}), {-1, 1, kNan});
  expect_same(apply(Op::kCEIL, {-0.5f, 1.1f}), {-0.f, 2});
}

TEST(ReferenceUnary, SpecialValuesOfFunctions) {
  expect_same(apply(Op::kEXP, {0, -kInf, 89, kNan}), {1, 0, kInf, kNan});
  expect_same(apply(Op::kLOG, {1, 0, -1}), {0, -kInf, kNan});
  expect_same(apply(Op::kSQRT, {4, -0.f, -1}), {2, -0.f, kNan});
  expect_same(apply(Op::kRECIPROCAL, {4, 0, -0.f, kInf}), {0.25f, kInf, -kInf, 0});
  expect_same(apply(Op::kERF, {0, kInf, -kInf}), {0, 1, -1});
  expect_same(apply(Op::kRELU, {-1, 2, kNan, -kInf}), {0, 2, kNan, 0});
  expect_same(apply(Op::kSIGMOID, {0, -200, 200, -kInf, kNan}), {0.5f, 0, 1, 0, kNan});
  expect_same(apply(Op::kSOFTPLUS, {-200, 200, kInf, kNan}), {0, 200, kInf, kNan});
  expect_same(apply(Op::kATANH, {1, -1, 2}), {kInf, -kInf, kNan});
}

// Values from tables of these functions.
TEST(ReferenceUnary, KnownValues) {
  const struct {
    Op op;
    double x, y;
  } cases[] = {
      {Op::kEXP, 1, 2.718281828459045},
      {Op::kLOG, 10, 2.302585092994046},
      {Op::kERF, 0.5, 0.5204998778130465},
      {Op::kSIN, 1, 0.8414709848078965},
      {Op::kCOS, 1, 0.5403023058681398},
      {Op::kTAN, 1, 1.5574077246549023},
      {Op::kASIN, 0.5, 0.5235987755982989},
      {Op::kACOS, 0.5, 1.0471975511965979},
      {Op::kATAN, 1, 0.7853981633974483},
      {Op::kSINH, 1, 1.1752011936438014},
      {Op::kCOSH, 1, 1.5430806348152437},
      {Op::kTANH, 1, 0.7615941559557649},
      {Op::kASINH, 1, 0.881373587019543},
      {Op::kACOSH, 2, 1.3169578969248166},
      {Op::kATANH, 0.5, 0.5493061443340549},
      {Op::kSIGMOID, 1, 0.7310585786300049},
      {Op::kSIGMOID, -700, 9.859676543759770e-305},
      {Op::kSOFTPLUS, 1, 1.3132616875182228},
      {Op::kSOFTSIGN, -3, -0.75},
      {Op::kSILU, 1, 0.7310585786300049},
      {Op::kMISH, 1, 0.8650983882673103},
      {Op::kGELU, 1, 0.8413447460685429},
      {Op::kGELU, -1, -0.15865525393145707},
      {Op::kHARD_SWISH, 1, 0.6666666666666666},
      {Op::kELU, -1, -0.6321205588285577},
      {Op::kSELU, -1, -1.1113307412864784},
      {Op::kSELU, 2, 2.10140204429626465},
      {Op::kCELU, -1, -0.6321205588285577},
  };
  for (const auto& c : cases) {
    const double y = values<double>(output(c.op, {f64({1}, {c.x})}))[0];
    EXPECT_NEAR(y, c.y, std::fabs(c.y) * 1e-14) << op_name(c.op) << "(" << c.x << ")";
  }
}

TEST(ReferenceUnary, Attributes) {
  expect_same(apply(Op::kLEAKY_RELU, {-2, 3, kNan}, {{BP_ATTR_ALPHA, 0.25}}), {-0.5f, 3, kNan});
  expect_same(apply(Op::kHARD_SIGMOID, {-10, 10, 1}, {{BP_ATTR_ALPHA, 0.25}, {BP_ATTR_BETA, 0.5}}), {0, 1, 0.75f});
  expect_same(apply(Op::kHARD_SIGMOID, {1}), {0.7f});
  expect_same(apply(Op::kTHRESHOLDED_RELU, {1, 1.5f, -1}), {0, 1.5f, 0});
  expect_same(apply(Op::kSHRINK, {-2, 0.5f, 2}, {{BP_ATTR_BIAS, 1.5}}), {-0.5f, 0, 0.5f});
  expect_near(output(Op::kCELU, {f32({1}, {-2})}, {{BP_ATTR_ALPHA, 2.0}}), {-1.2642411f});
  expect_near(output(Op::kELU, {f32({1}, {-1})}, {{BP_ATTR_ALPHA, 2.0}}), {-1.2642411f});
  expect_near(output(Op::kGELU, {f32({1}, {1})}, {{BP_ATTR_APPROXIMATE, std::string("tanh")}}), {0.8411920f});
}

TEST(ReferenceUnary, IntegersWrapAndStayExact) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(values<int64_t>(output(Op::kABS, {i64({3}, {-big, INT64_MIN, 3})})), (I64s{big, INT64_MIN, 3}));
  EXPECT_EQ(values<int64_t>(output(Op::kNEG, {i64({2}, {big, INT64_MIN})})), (I64s{-big, INT64_MIN}));
  EXPECT_EQ(values<int8_t>(output(Op::kABS, {i8({2}, {-128, -127})})), (std::vector<int8_t>{-128, 127}));
  EXPECT_EQ(values<uint8_t>(output(Op::kNEG, {u8({2}, {1, 0})})), (std::vector<uint8_t>{255, 0}));
  EXPECT_EQ(values<int64_t>(output(Op::kSIGN, {i64({3}, {-big, 0, big})})), (I64s{-1, 0, 1}));
  EXPECT_EQ(values<int64_t>(output(Op::kRELU, {i64({2}, {-big, big})})), (I64s{0, big}));
  EXPECT_EQ(values<int64_t>(output(Op::kSHRINK, {i64({2}, {big, -big})}, {{BP_ATTR_BIAS, 1.0}})),
            (I64s{big - 1, 1 - big}));
  EXPECT_EQ(values<uint8_t>(output(Op::kBITWISE_NOT, {u8({2}, {0, 0xF0})})), (std::vector<uint8_t>{255, 0x0F}));
  EXPECT_EQ(values<int8_t>(output(Op::kBITWISE_NOT, {i8({1}, {0})})), (std::vector<int8_t>{-1}));
}

TEST(ReferenceUnary, Bool) {
  EXPECT_EQ(values<uint8_t>(output(Op::kNOT, {boolean({2}, {0, 1})})), (std::vector<uint8_t>{1, 0}));
  const HostTensor x = f32({4}, {kNan, kInf, -kInf, 0});
  EXPECT_EQ(values<uint8_t>(output(Op::kIS_NAN, {x})), (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(values<uint8_t>(output(Op::kIS_INF, {x})), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(values<uint8_t>(output(Op::kIS_INF, {x}, {{BP_ATTR_DETECT_NEGATIVE, int64_t{0}}})),
            (std::vector<uint8_t>{0, 1, 0, 0}));
  EXPECT_EQ(values<uint8_t>(output(Op::kIS_INF, {x}, {{BP_ATTR_DETECT_POSITIVE, int64_t{0}}})),
            (std::vector<uint8_t>{0, 0, 1, 0}));
}

TEST(ReferenceClip, BoundsAndNan) {
  expect_same(values<float>(output(Op::kCLIP, {f32({4}, {-2, 0.5f, 3, kNan}), f32({}, {-1}), f32({}, {1})})),
              {-1, 0.5f, 1, kNan});
  expect_same(values<float>(output(Op::kCLIP, {f32({2}, {-2, 3}), HostTensor(), f32({}, {1})})), {-2, 1});
  expect_same(values<float>(output(Op::kCLIP, {f32({2}, {-2, 3})})), {-2, 3});
  // min(hi, max(lo, x)): the upper bound wins where the two contradict each other.
  expect_same(values<float>(output(Op::kCLIP, {f32({1}, {0}), f32({}, {2}), f32({}, {1})})), {1});
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(values<int64_t>(output(Op::kCLIP, {i64({2}, {big, 0}), i64({}, {2}), i64({}, {big - 1})})),
            (I64s{big - 1, 2}));
}

TEST(ReferenceUnary, ZeroSize) { EXPECT_EQ(output(Op::kEXP, {f32({2, 0}, {})}).shape(), (Shape{2, 0})); }

}  // namespace
}  // namespace backplane::reference
