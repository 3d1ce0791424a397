#include "evaluation.hpp"

namespace backplane::reference {
namespace {

constexpr int64_t kBig = (int64_t{1} << 53) + 1;
const AttrList kFmod{{BP_ATTR_FMOD, int64_t{1}}};

std::vector<float> apply(Op op, std::vector<float> a, std::vector<float> b, const AttrList& attrs = {}) {
  const Shape shape{static_cast<int64_t>(a.size())};
  return values<float>(output(op, {f32(shape, std::move(a)), f32(shape, std::move(b))}, attrs));
}

I64s integers(Op op, I64s a, I64s b, const AttrList& attrs = {}) {
  const Shape shape{static_cast<int64_t>(a.size())};
  return values<int64_t>(output(op, {i64(shape, std::move(a)), i64(shape, std::move(b))}, attrs));
}

TEST(ReferenceBinary, Broadcasts) {
  const HostTensor y = output(Op::kADD, {i64({2, 1}, {10, 20}), i64({3}, {1, 2, 3})});
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(values<int64_t>(y), (I64s{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(values<int64_t>(output(Op::kSUB, {i64({}, {1}), i64({1, 2}, {1, 2})})), (I64s{0, -1}));
  EXPECT_EQ(output(Op::kADD, {i64({0, 1}, {}), i64({3}, {1, 2, 3})}).shape(), (Shape{0, 3}));
}

TEST(ReferenceBinary, FloatSpecialValues) {
  expect_same(apply(Op::kADD, {kInf, 1}, {-kInf, kNan}), {kNan, kNan});
  expect_same(apply(Op::kDIV, {1, -1, 0, 1}, {0, 0, 0, -kInf}), {kInf, -kInf, kNan, -0.f});
  expect_same(apply(Op::kMIN, {1, kNan, 3}, {2, 0, kNan}), {1, kNan, kNan});
  expect_same(apply(Op::kMAX, {1, kNan, 3}, {2, 0, kNan}), {2, kNan, kNan});
  expect_same(apply(Op::kMUL, {0, 0.1f}, {kInf, 3}), {kNan, 0.1f * 3});
}

TEST(ReferenceBinary, IntegersAreExactAndWrap) {
  EXPECT_EQ(integers(Op::kADD, I64s{kBig, INT64_MAX}, I64s{2, 1}), (I64s{kBig + 2, INT64_MIN}));
  EXPECT_EQ(integers(Op::kSUB, I64s{kBig, INT64_MIN}, I64s{1, 1}), (I64s{kBig - 1, INT64_MAX}));
  EXPECT_EQ(integers(Op::kMUL, I64s{kBig, INT64_MIN}, I64s{3, -1}), (I64s{kBig * 3, INT64_MIN}));
  EXPECT_EQ(integers(Op::kMAX, I64s{kBig, -kBig}, I64s{kBig - 1, 0}), (I64s{kBig, 0}));
  EXPECT_EQ(values<int8_t>(output(Op::kADD, {i8({1}, {127}), i8({1}, {1})})), (std::vector<int8_t>{-128}));
  EXPECT_EQ(values<uint8_t>(output(Op::kSUB, {u8({1}, {1}), u8({1}, {2})})), (std::vector<uint8_t>{255}));
  EXPECT_EQ(values<uint64_t>(output(Op::kADD, {u64({1}, {UINT64_MAX - 1}), u64({1}, {1})})),
            (std::vector<uint64_t>{UINT64_MAX}));
}

TEST(ReferenceBinary, IntegerDivision) {
  EXPECT_EQ(integers(Op::kDIV, I64s{7, -7, 7, INT64_MIN, kBig}, I64s{2, 2, 0, -1, 1}),
            (I64s{3, -3, 0, INT64_MIN, kBig}));
  EXPECT_EQ(values<int8_t>(output(Op::kDIV, {i8({1}, {-128}), i8({1}, {-1})})), (std::vector<int8_t>{-128}));
  EXPECT_EQ(values<uint64_t>(output(Op::kDIV, {u64({1}, {UINT64_MAX}), u64({1}, {2})})),
            (std::vector<uint64_t>{UINT64_MAX / 2}));
}

TEST(ReferenceBinary, Mod) {
  EXPECT_EQ(integers(Op::kMOD, I64s{7, -7, 7, -7, 5}, I64s{3, 3, -3, -3, 0}), (I64s{1, 2, -2, -1, 0}));
  EXPECT_EQ(integers(Op::kMOD, I64s{7, -7, 7, -7, INT64_MIN}, I64s{3, 3, -3, -3, -1}, kFmod), (I64s{1, -1, 1, -1, 0}));
  EXPECT_EQ(integers(Op::kMOD, I64s{kBig}, I64s{kBig - 1}), (I64s{1}));
  expect_same(apply(Op::kMOD, {-7.5f, 7.5f, 1}, {2, -2, 0}, kFmod), {-1.5f, 1.5f, kNan});
  EXPECT_EQ(values<uint8_t>(output(Op::kMOD, {u8({1}, {254}), u8({1}, {255})})), (std::vector<uint8_t>{254}));
  EXPECT_EQ(values<uint64_t>(output(Op::kMOD, {u64({1}, {7}), u64({1}, {UINT64_MAX})})), (std::vector<uint64_t>{7}));
}

TEST(ReferencePow, Floats) {
  expect_same(apply(Op::kPOW, {2, -2, 0, -8, kNan}, {10, 3, -1, 0.5f, 0}), {1024, -8, kInf, kNan, 1});
  const HostTensor parity = output(Op::kPOW, {f32({2}, {-1, -1}), i64({2}, {kBig, kBig + 1})});
  expect_same(values<float>(parity), {-1, 1});
}

TEST(ReferencePow, Integers) {
  EXPECT_EQ(integers(Op::kPOW, I64s{3, 2, -2, 0, 2}, I64s{34, 64, 63, 0, 62}),
            (I64s{16677181699666569, 0, INT64_MIN, 1, int64_t{1} << 62}));
  EXPECT_EQ(integers(Op::kPOW, I64s{1, -1, -1, 2, 0}, I64s{-5, -3, -2, -1, -1}), (I64s{1, -1, 1, 0, 0}));
  EXPECT_EQ(values<int64_t>(output(Op::kPOW, {i64({2}, {9, 2}), f32({2}, {0.5f, -1})})), (I64s{3, 0}));
}

TEST(ReferencePow, IntegerByFloatSaturates) {
  EXPECT_EQ(values<uint8_t>(output(Op::kPOW, {u8({2}, {20, 2}), f32({2}, {2, 3})})), (std::vector<uint8_t>{255, 8}));
}

TEST(ReferencePrelu, SlopeBroadcasts) {
  const HostTensor y = output(Op::kPRELU, {f32({2, 2}, {-1, 2, -3, kNan}), f32({2}, {0.5f, 0.25f})});
  expect_same(values<float>(y), {-0.5f, 2, -1.5f, kNan});
  EXPECT_EQ(values<int8_t>(output(Op::kPRELU, {i8({2}, {-3, 3}), i8({1}, {2})})), (std::vector<int8_t>{-6, 3}));
}

std::vector<uint8_t> compare(Op op, const HostTensor& a, const HostTensor& b) {
  const HostTensor y = output(op, {a, b});
  EXPECT_EQ(y.dtype(), DType::kBOOL);
  return values<uint8_t>(y);
}

TEST(ReferenceComparison, FloatsAndNan) {
  const HostTensor a = f32({4}, {1, 2, 2, kNan}), b = f32({4}, {2, 1, 2, kNan});
  EXPECT_EQ(compare(Op::kEQ, a, b), (std::vector<uint8_t>{0, 0, 1, 0}));
  EXPECT_EQ(compare(Op::kNE, a, b), (std::vector<uint8_t>{1, 1, 0, 1}));
  EXPECT_EQ(compare(Op::kLT, a, b), (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(compare(Op::kLE, a, b), (std::vector<uint8_t>{1, 0, 1, 0}));
  EXPECT_EQ(compare(Op::kGT, a, b), (std::vector<uint8_t>{0, 1, 0, 0}));
  EXPECT_EQ(compare(Op::kGE, a, b), (std::vector<uint8_t>{0, 1, 1, 0}));
}

TEST(ReferenceComparison, LargeIntegers) {
  EXPECT_EQ(compare(Op::kEQ, i64({1}, {kBig}), i64({1}, {kBig - 1})), (std::vector<uint8_t>{0}));
  EXPECT_EQ(compare(Op::kGT, i64({1}, {kBig}), i64({1}, {kBig - 1})), (std::vector<uint8_t>{1}));
  EXPECT_EQ(compare(Op::kLT, u64({1}, {1}), u64({1}, {UINT64_MAX})), (std::vector<uint8_t>{1}));
  EXPECT_EQ(compare(Op::kEQ, boolean({2}, {0, 1}), boolean({2}, {1, 1})), (std::vector<uint8_t>{0, 1}));
}

TEST(ReferenceLogic, BoolAndBits) {
  const HostTensor a = boolean({4}, {0, 0, 1, 1}), b = boolean({4}, {0, 1, 0, 1});
  EXPECT_EQ(compare(Op::kAND, a, b), (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(compare(Op::kOR, a, b), (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(compare(Op::kXOR, a, b), (std::vector<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(integers(Op::kBITWISE_AND, I64s{-1, 12}, I64s{kBig, 10}), (I64s{kBig, 8}));
  EXPECT_EQ(integers(Op::kBITWISE_OR, I64s{12}, I64s{10}), (I64s{14}));
  EXPECT_EQ(integers(Op::kBITWISE_XOR, I64s{-1}, I64s{kBig}), (I64s{~kBig}));
}

TEST(ReferenceShift, DropsBitsAndSurvivesLargeCounts) {
  EXPECT_EQ(values<uint8_t>(output(Op::kSHIFT_LEFT, {u8({3}, {0x81, 1, 1}), u8({3}, {1, 8, 200})})),
            (std::vector<uint8_t>{2, 0, 0}));
  EXPECT_EQ(values<uint8_t>(output(Op::kSHIFT_RIGHT, {u8({3}, {0x81, 1, 255}), u8({3}, {1, 8, 200})})),
            (std::vector<uint8_t>{0x40, 0, 0}));
  EXPECT_EQ(values<uint64_t>(output(Op::kSHIFT_LEFT, {u64({2}, {1, 1}), u64({2}, {63, 64})})),
            (std::vector<uint64_t>{uint64_t{1} << 63, 0}));
}

TEST(ReferenceWhere, BroadcastsThreeWays) {
  const HostTensor y = output(Op::kWHERE, {boolean({2, 1}, {1, 0}), i64({2}, {kBig, 2}), i64({}, {-1})});
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_EQ(values<int64_t>(y), (I64s{kBig, 2, -1, -1}));
}

}  // namespace
}  // namespace backplane::reference
