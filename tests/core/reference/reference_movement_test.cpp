#include "evaluation.hpp"

namespace backplane::reference {
namespace {

constexpr int64_t kBig = (int64_t{1} << 53) + 1;  // not a double

AttrList to(DType dtype) { return {{BP_ATTR_TO, static_cast<int64_t>(dtype)}}; }

TEST(ReferenceCopy, SharesTheBytes) {
  const HostTensor x = i64({2}, {kBig, -kBig});
  EXPECT_EQ(output(Op::kCOPY, {x}).bytes().data(), x.bytes().data());
}

TEST(ReferenceCast, FloatToIntegerTruncatesSaturatesAndZeroesNan) {
  const HostTensor x = f32({8}, {1.9f, -1.9f, 300.f, -300.f, kNan, kInf, -kInf, -0.5f});
  EXPECT_EQ(values<int8_t>(output(Op::kCAST, {x}, to(DType::kI8))),
            (std::vector<int8_t>{1, -1, 127, -128, 0, 127, -128, 0}));
  EXPECT_EQ(values<uint8_t>(output(Op::kCAST, {x}, to(DType::kU8))),
            (std::vector<uint8_t>{1, 0, 255, 0, 0, 255, 0, 0}));
  EXPECT_EQ(values<int64_t>(output(Op::kCAST, {f64({3}, {9.3e18, -9.3e18, 1e18})}, to(DType::kI64))),
            (I64s{INT64_MAX, INT64_MIN, 1000000000000000000}));
  EXPECT_EQ(values<uint64_t>(output(Op::kCAST, {f64({2}, {1.9e19, -1})}, to(DType::kU64))),
            (std::vector<uint64_t>{UINT64_MAX, 0}));
}

TEST(ReferenceCast, BetweenIntegersWraps) {
  EXPECT_EQ(values<int8_t>(output(Op::kCAST, {i64({3}, {200, -129, 256})}, to(DType::kI8))),
            (std::vector<int8_t>{-56, 127, 0}));
  EXPECT_EQ(values<uint64_t>(output(Op::kCAST, {i64({2}, {-1, kBig})}, to(DType::kU64))),
            (std::vector<uint64_t>{UINT64_MAX, static_cast<uint64_t>(kBig)}));
}

TEST(ReferenceCast, Bool) {
  EXPECT_EQ(values<uint8_t>(output(Op::kCAST, {f32({4}, {0, -0.f, kNan, 0.1f})}, to(DType::kBOOL))),
            (std::vector<uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ(values<uint8_t>(output(Op::kCAST, {i64({2}, {int64_t{1} << 40, 0})}, to(DType::kBOOL))),
            (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(values<float>(output(Op::kCAST, {boolean({2}, {0, 1})}, to(DType::kF32))), (std::vector<float>{0, 1}));
}

TEST(ReferenceCast, NarrowFloatsRoundToNearestEven) {
  // f16 has 10 fraction bits: 2049 lies between 2048 and 2050, 2051 between 2050 and 2052.
  const HostTensor x = f64({9}, {1, -2, 2049, 2051, 65504, 65519.99, 65520, 6e-8, 2e-8});
  EXPECT_EQ(values<uint16_t>(output(Op::kCAST, {x}, to(DType::kF16))),
            (std::vector<uint16_t>{0x3C00, 0xC000, 0x6800, 0x6802, 0x7BFF, 0x7BFF, 0x7C00, 0x0001, 0x0000}));
  // bf16 has 7: 257 lies between 256 and 258, 259 between 258 and 260.
  EXPECT_EQ(values<uint16_t>(output(Op::kCAST, {f32({5}, {1, 257, 259, -kInf, 3.4e38f})}, to(DType::kBF16))),
            (std::vector<uint16_t>{0x3F80, 0x4380, 0x4382, 0xFF80, 0x7F80}));
  // Just above a tie of f16 that f32 cannot tell from the tie: rounding twice would go down.
  EXPECT_EQ(values<uint16_t>(output(Op::kCAST, {f64({1}, {1 + 0x1p-11 + 0x1p-40})}, to(DType::kF16))),
            (std::vector<uint16_t>{0x3C01}));
  // The carry out of the fraction: the largest subnormal's upper neighbour, and 2 - 2^-12.
  EXPECT_EQ(values<uint16_t>(output(Op::kCAST, {f64({2}, {0x1p-14 - 0x1p-26, 2 - 0x1p-12})}, to(DType::kF16))),
            (std::vector<uint16_t>{0x0400, 0x4000}));
}

TEST(ReferenceCast, ZeroStaysZeroInNarrowFloats) {
  const HostTensor x = f64({2}, {0.0, -0.0});
  EXPECT_EQ(values<uint16_t>(output(Op::kCAST, {x}, to(DType::kF16))), (std::vector<uint16_t>{0, 0x8000}));
  EXPECT_EQ(values<uint16_t>(output(Op::kCAST, {x}, to(DType::kBF16))), (std::vector<uint16_t>{0, 0x8000}));
}

TEST(ReferenceCast, NarrowFloatsWidenExactly) {
  const HostTensor x = tensor<uint16_t>(DType::kF16, {6}, {0x3C00, 0x8000, 0x0001, 0x03FF, 0xFC00, 0x7E00});
  expect_same(values<float>(output(Op::kCAST, {x}, to(DType::kF32))), {1, -0.f, 0x1p-24f, 0x1.ff8p-15f, -kInf, kNan});
  const HostTensor b = tensor<uint16_t>(DType::kBF16, {3}, {0x3FC0, 0xFF80, 0x0001});
  expect_same(values<float>(output(Op::kCAST, {b}, to(DType::kF32))), {1.5f, -kInf, 0x1p-133f});
}

TEST(ReferenceCast, IntegerToFloatRoundsOnce) {
  // 2^24 + 1 + 2^-k cannot occur in integers, but 2^60 + 2^36 + 1 is just above a tie of f32 that double loses.
  const int64_t x = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  EXPECT_EQ(values<float>(output(Op::kCAST, {i64({1}, {x})}, to(DType::kF32)))[0], 0x1.000002p60f);
  EXPECT_EQ(
      values<uint16_t>(output(Op::kCAST, {i64({1}, {(int64_t{1} << 60) + (int64_t{1} << 52) + 1})}, to(DType::kBF16))),
      (std::vector<uint16_t>{0x5D81}));
}

TEST(ReferenceConcat, JoinsAlongAnyAxis) {
  const HostTensor a = i64({2, 1}, {1, kBig}), b = i64({2, 2}, {3, 4, 5, 6}), none = i64({2, 0}, {});
  const HostTensor y = output(Op::kCONCAT, {a, none, b}, {{BP_ATTR_AXIS, int64_t{1}}});
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<int64_t>(y), (I64s{1, 3, 4, kBig, 5, 6}));
  EXPECT_EQ(values<int64_t>(output(Op::kCONCAT, {b, b}, {{BP_ATTR_AXIS, int64_t{0}}})), (I64s{3, 4, 5, 6, 3, 4, 5, 6}));
}

HostTensor padded(const HostTensor& x, I64s pads, const std::string& mode) {
  return output(Op::kPAD, {x}, {{BP_ATTR_PADS, pads}, {BP_ATTR_MODE, mode}});
}

TEST(ReferencePad, Modes) {
  const HostTensor x = i32({3}, {1, 2, 3});
  EXPECT_EQ(values<int32_t>(padded(x, {2, 1}, "constant")), (std::vector<int32_t>{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(values<int32_t>(padded(x, {2, 2}, "reflect")), (std::vector<int32_t>{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_EQ(values<int32_t>(padded(x, {2, 1}, "edge")), (std::vector<int32_t>{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(values<int32_t>(padded(x, {4, 2}, "wrap")), (std::vector<int32_t>{3, 1, 2, 3, 1, 2, 3, 1, 2}));
}

TEST(ReferencePad, TwoAxesAndValue) {
  const HostTensor y = output(Op::kPAD, {f32({1, 2}, {1, 2}), f32({}, {9})}, {{BP_ATTR_PADS, I64s{1, 0, 0, 1}}});
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{9, 9, 9, 1, 2, 9}));
}

TEST(ReferencePad, ConstantFillsEmptyInput) {
  EXPECT_EQ(values<int32_t>(padded(i32({0}, {}), {1, 1}, "constant")), (std::vector<int32_t>{0, 0}));
}

TEST(ReferenceTile, Repeats) {
  const HostTensor y = output(Op::kTILE, {i64({2, 2}, {1, 2, 3, kBig})}, {{BP_ATTR_REPEATS, I64s{2, 2}}});
  EXPECT_EQ(values<int64_t>(y), (I64s{1, 2, 1, 2, 3, kBig, 3, kBig, 1, 2, 1, 2, 3, kBig, 3, kBig}));
  EXPECT_EQ(output(Op::kTILE, {i64({2}, {1, 2})}, {{BP_ATTR_REPEATS, I64s{0}}}).shape(), (Shape{0}));
}

TEST(ReferenceGather, NegativeIndicesAndAxes) {
  const HostTensor x = i64({2, 3}, {1, 2, 3, 4, 5, kBig});
  const HostTensor y = output(Op::kGATHER, {x, i64({2}, {-1, 0})}, {{BP_ATTR_AXIS, int64_t{1}}});
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_EQ(values<int64_t>(y), (I64s{3, 1, kBig, 4}));
  const HostTensor row = output(Op::kGATHER, {x, i32({}, {1})});
  EXPECT_EQ(row.shape(), (Shape{3}));
  EXPECT_EQ(values<int64_t>(row), (I64s{4, 5, kBig}));
}

TEST(ReferenceGather, IndexOutsideIsOutOfRange) {
  const HostTensor x = f32({2}, {1, 2});
  EXPECT_EQ(failure(Op::kGATHER, {x, i64({1}, {2})}), Code::out_of_range);
  EXPECT_EQ(failure(Op::kGATHER, {x, i64({1}, {-3})}), Code::out_of_range);
  EXPECT_EQ(failure(Op::kGATHER, {f32({0}, {}), i64({1}, {0})}), Code::out_of_range);
  const std::string message = evaluate(Op::kGATHER, std::vector{x, i64({2}, {0, 7})}, {}).status().message();
  EXPECT_NE(message.find("index 7"), std::string::npos) << message;
}

TEST(ReferenceGather, NothingIsReadForAnEmptyResult) {
  EXPECT_EQ(output(Op::kGATHER, {f32({2, 0}, {}), i64({1}, {7})}).shape(), (Shape{1, 0}));
}

TEST(ReferenceReverse, Axes) {
  const HostTensor x = i32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<int32_t>(output(Op::kREVERSE, {x}, {{BP_ATTR_AXES, I64s{1}}})),
            (std::vector<int32_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(values<int32_t>(output(Op::kREVERSE, {x}, {{BP_ATTR_AXES, I64s{0, 1}}})),
            (std::vector<int32_t>{6, 5, 4, 3, 2, 1}));
}

}  // namespace
}  // namespace backplane::reference
