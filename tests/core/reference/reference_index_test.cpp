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

TEST(ReferenceOrder, SortIsStableAndTakesNanForTheLargest) {
  const HostTensor x = f32({5}, {2, kNan, -1, 2, kInf});
  const auto rising = outputs(Op::kSORT, {x});
  expect_same(values<float>(rising[0]), {-1, 2, 2, kInf, kNan});
  EXPECT_EQ(values<int64_t>(rising[1]), (I64s{2, 0, 3, 4, 1}));
  const auto falling = outputs(Op::kSORT, {x}, {{BP_ATTR_DESCENDING, int64_t{1}}});
  expect_same(values<float>(falling[0]), {kNan, kInf, 2, 2, -1});
  EXPECT_EQ(values<int64_t>(falling[1]), (I64s{1, 4, 0, 3, 2}));
  const auto columns = outputs(Op::kSORT, {i32({2, 2}, {3, 1, 2, 4})}, axis(0));
  EXPECT_EQ(values<int32_t>(columns[0]), (std::vector<int32_t>{2, 1, 3, 4}));
  EXPECT_EQ(values<int64_t>(columns[1]), (I64s{1, 0, 0, 1}));
}

TEST(ReferenceSetRows, PutsRowsAndTheLastOneStays) {
  const HostTensor x = f32({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}),
                   rows = f32({2, 2, 2}, {10, 11, 12, 13, 14, 15, 16, 17});
  EXPECT_EQ(values<float>(output(Op::kSET_ROWS, {x, rows, i64({2, 2}, {1, 0, 1, -1})})),
            (std::vector<float>{12, 13, 10, 11, 4, 5, 16, 17}));
  EXPECT_EQ(values<float>(output(Op::kSET_ROWS, {x, rows, i32({2}, {1, 1})})),
            (std::vector<float>{0, 1, 12, 13, 4, 5, 16, 17}));
  EXPECT_EQ(failure(Op::kSET_ROWS, {x, rows, i32({2}, {1, 2})}), Code::out_of_range);
}

TEST(ReferenceSetRows, CastsToTheTypeOfTheTarget) {
  const HostTensor x = tensor<uint16_t>(DType::kF16, {2, 1}, {0x3C00, 0x3C00});  // 1
  EXPECT_EQ(values<uint16_t>(output(Op::kSET_ROWS, {x, f32({1, 1}, {2}), i64({1}, {1})})),
            (std::vector<uint16_t>{0x3C00, 0x4000}));
  const AttrList to = {{BP_ATTR_TO, static_cast<int64_t>(DType::kQ8_0)}};
  const HostTensor wide = f32({1, 32}, std::vector<float>(32, 127)), narrow = output(Op::kCAST, {wide}, to);
  const HostTensor blocks = HostTensor::zeros(DType::kQ8_0, {3, 32}).value();
  const HostTensor y = output(Op::kSET_ROWS, {blocks, wide, i64({1}, {2})});
  EXPECT_TRUE(std::equal(narrow.bytes().begin(), narrow.bytes().end(), y.bytes().begin() + 2 * 34));
  EXPECT_EQ(y.bytes()[34], std::byte{0});
}

TEST(ReferenceSetRows, NoIndexIsLookedAtWhereNothingMoves) {
  EXPECT_EQ(output(Op::kSET_ROWS, {f32({2, 0}, {}), f32({1, 0}, {}), i64({1}, {9})}).elements(), 0);
}

}  // namespace
}  // namespace backplane::reference
