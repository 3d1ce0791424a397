#include "evaluation.hpp"

namespace backplane::reference {
namespace {

TEST(ReferenceMatmul, TwoDimensions) {
  const HostTensor y = output(Op::kMATMUL, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3, 2}, {7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{58, 64, 139, 154}));
}

TEST(ReferenceMatmul, PromotesOneDimension) {
  const HostTensor v = i64({2}, {1, 2}), m = i64({2, 2}, {3, 4, 5, 6});
  const HostTensor dot = output(Op::kMATMUL, {v, v});
  EXPECT_EQ(dot.shape(), (Shape{}));
  EXPECT_EQ(values<int64_t>(dot), (I64s{5}));
  EXPECT_EQ(values<int64_t>(output(Op::kMATMUL, {v, m})), (I64s{13, 16}));
  EXPECT_EQ(values<int64_t>(output(Op::kMATMUL, {m, v})), (I64s{11, 17}));
}

TEST(ReferenceMatmul, BroadcastsBatchAxes) {
  const HostTensor a = i64({2, 1, 1, 2}, {1, 2, 3, 4});
  const HostTensor b = i64({3, 2, 1}, {1, 0, 0, 1, 1, 1});
  const HostTensor y = output(Op::kMATMUL, {a, b});
  EXPECT_EQ(y.shape(), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(values<int64_t>(y), (I64s{1, 2, 3, 3, 4, 7}));
}

TEST(ReferenceMatmul, IntegersAreExactAndWrap) {
  const int64_t big = (int64_t{1} << 53) + 1;
  EXPECT_EQ(values<int64_t>(output(Op::kMATMUL, {i64({1, 2}, {big, 1}), i64({2, 1}, {3, 1})})), (I64s{3 * big + 1}));
  EXPECT_EQ(values<int32_t>(output(Op::kMATMUL, {i32({1, 1}, {1 << 30}), i32({1, 1}, {4})})),
            (std::vector<int32_t>{0}));
}

TEST(ReferenceMatmul, EmptyInnerAxisGivesZeros) {
  EXPECT_EQ(values<float>(output(Op::kMATMUL, {f32({1, 0}, {}), f32({0, 2}, {})})), (std::vector<float>{0, 0}));
}

TEST(ReferenceGemm, ScalesAndBroadcastsC) {
  const HostTensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {1, 0, 0, 1});
  const AttrList attrs{{BP_ATTR_ALPHA, 0.5}, {BP_ATTR_BETA, 2.0}};
  EXPECT_EQ(values<float>(output(Op::kGEMM, {a, b})), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values<float>(output(Op::kGEMM, {a, b, f32({2}, {10, 20})}, attrs)),
            (std::vector<float>{20.5f, 41, 21.5f, 42}));
  EXPECT_EQ(values<float>(output(Op::kGEMM, {a, b, f32({2, 1}, {10, 20})}, attrs)),
            (std::vector<float>{20.5f, 21, 41.5f, 42}));
}

TEST(ReferenceMatmulId, EachRowTakesTheMatrixThatItsIdNames) {
  const HostTensor x = f32({2, 1, 2}, {1, 2, 3, 4}), w = f32({3, 2, 1}, {1, 0, 0, 1, 10, 10});
  const HostTensor y = output(Op::kMATMUL_ID, {x, w, i32({2, 2}, {0, 2, 1, -1})});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{1, 30, 4, 70}));
  EXPECT_EQ(failure(Op::kMATMUL_ID, {x, w, i32({2, 2}, {0, 2, 1, 3})}), Code::out_of_range);
}

TEST(ReferenceMatmulId, BlocksLieAlongTheSummedAxis) {
  std::vector<float> rows(64, 0);
  rows[0] = 127, rows[33] = 254;  // exact in q8_0: one matrix of two rows
  const HostTensor w = output(Op::kCAST, {f32({1, 2, 32}, rows)}, {{BP_ATTR_TO, static_cast<int64_t>(DType::kQ8_0)}});
  std::vector<float> x(32, 0);
  x[0] = 1, x[1] = 3;
  EXPECT_EQ(values<float>(output(Op::kMATMUL_ID, {f32({32}, x), w, i64({1}, {0})})), (std::vector<float>{127, 762}));
}

}  // namespace
}  // namespace backplane::reference
