#include "evaluation.hpp"

namespace backplane::reference {
namespace {

AttrList axis(int64_t axis) { return {{BP_ATTR_AXIS, axis}}; }

TEST(ReferenceIndex, GatherElementsPutsTheIndexInThePlaceOfItsAxis) {
  const HostTensor x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values<float>(output(Op::kGATHER_ELEMENTS, {x, i64({2, 2}, {0, 0, 1, 0})}, axis(1))),
            (std::vector<float>{1, 1, 4, 3}));
  EXPECT_EQ(values<float>(output(Op::kGATHER_ELEMENTS, {x, i64({1, 2}, {-1, 0})}, axis(0))),
            (std::vector<float>{3, 2}));
  EXPECT_EQ(failure(Op::kGATHER_ELEMENTS, {x, i64({1, 1}, {2})}, axis(0)), Code::out_of_range);
  EXPECT_EQ(failure(Op::kGATHER_ELEMENTS, {x, i64({1, 1}, {-3})}, axis(0)), Code::out_of_range);
}

TEST(ReferenceIndex, GatherNdPicksBlocks) {
  const HostTensor x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values<float>(output(Op::kGATHER_ND, {x, i64({2, 2}, {0, 1, 1, 0})})), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(values<float>(output(Op::kGATHER_ND, {x, i64({2, 1}, {1, 0})}, {{BP_ATTR_BATCH_DIMS, int64_t{1}}})),
            (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(failure(Op::kGATHER_ND, {x, i64({1, 2}, {0, 2})}), Code::out_of_range);
}

TEST(ReferenceIndex, IndicesAreNotLookedAtWhereNothingMoves) {
  EXPECT_EQ(output(Op::kGATHER_ND, {f32({2, 0}, {}), i64({1, 1}, {9})}).elements(), 0);
}

TEST(ReferenceIndex, ScatterElementsReplacesOrReduces) {
  const HostTensor x = f32({1, 5}, {1, 2, 3, 4, 5}), updates = f32({1, 2}, {1.5f, 2.5f});
  const auto scattered = [&](const char* reduction) {
    return values<float>(output(Op::kSCATTER_ELEMENTS, {x, i64({1, 2}, {1, -4}), updates},
                                {{BP_ATTR_AXIS, int64_t{1}}, {BP_ATTR_REDUCTION, std::string(reduction)}}));
  };
  EXPECT_EQ(scattered("none"), (std::vector<float>{1, 2.5f, 3, 4, 5}));  // the last one stays
  EXPECT_EQ(scattered("add"), (std::vector<float>{1, 6, 3, 4, 5}));
  EXPECT_EQ(scattered("mul"), (std::vector<float>{1, 7.5f, 3, 4, 5}));
  EXPECT_EQ(scattered("min"), (std::vector<float>{1, 1.5f, 3, 4, 5}));
  EXPECT_EQ(scattered("max"), (std::vector<float>{1, 2.5f, 3, 4, 5}));
}

TEST(ReferenceIndex, ScatterNdReplacesBlocks) {
  const HostTensor y =
      output(Op::kSCATTER_ND, {i64({3, 2}, {0, 0, 0, 0, 0, 0}), i64({2, 1}, {2, 0}), i64({2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(values<int64_t>(y), (I64s{3, 4, 0, 0, 1, 2}));
}

// 0.1 + 0.2 + ... of bf16 is rounded after each step: 256 + 1 stays 256.
TEST(ReferenceIndex, EachUpdateIsRounded) {
  const HostTensor x = tensor<uint16_t>(DType::kBF16, {1}, {0x4380}),
                   one = tensor<uint16_t>(DType::kBF16, {2}, {0x3F80, 0x3F80});
  const HostTensor y =
      output(Op::kSCATTER_ELEMENTS, {x, i64({2}, {0, 0}), one}, {{BP_ATTR_REDUCTION, std::string("add")}});
  EXPECT_EQ(values<uint16_t>(y), std::vector<uint16_t>{0x4380});
}

TEST(ReferenceOrder, CumSum) {
  const HostTensor x = i32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<int32_t>(output(Op::kCUM_SUM, {x}, axis(0))), (std::vector<int32_t>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(values<int32_t>(output(Op::kCUM_SUM, {x}, {{BP_ATTR_AXIS, int64_t{1}}, {BP_ATTR_EXCLUSIVE, int64_t{1}}})),
            (std::vector<int32_t>{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(values<int32_t>(output(Op::kCUM_SUM, {x}, {{BP_ATTR_AXIS, int64_t{1}}, {BP_ATTR_REVERSE, int64_t{1}}})),
            (std::vector<int32_t>{6, 5, 3, 15, 11, 6}));
}

TEST(ReferenceOrder, TopKBreaksTiesByIndexAndPutsNanFirst) {
  const HostTensor x = f32({5}, {1, 3, kNan, 3, -2});
  const auto best = outputs(Op::kTOP_K, {x}, {{BP_ATTR_K, int64_t{3}}});
  expect_same(values<float>(best[0]), {kNan, 3, 3});
  EXPECT_EQ(values<int64_t>(best[1]), (I64s{2, 1, 3}));
  const auto least = outputs(Op::kTOP_K, {x}, {{BP_ATTR_K, int64_t{2}}, {BP_ATTR_LARGEST, int64_t{0}}});
  EXPECT_EQ(values<int64_t>(least[1]), (I64s{2, 4}));
}

}  // namespace
}  // namespace backplane::reference
