#include "evaluation.hpp"

namespace backplane::reference {
namespace {

AttrList to(DType dtype) { return {{BP_ATTR_TO, static_cast<int64_t>(dtype)}}; }

TEST(ReferenceQuantize, RoundsHalfToEvenThenSaturates) {
  const HostTensor x = f32({7}, {0, 1, 3, 5, 1000, -1000, kNan});
  EXPECT_EQ(values<uint8_t>(output(Op::kQUANTIZE_LINEAR, {x, f32({}, {2}), u8({}, {10})})),
            (std::vector<uint8_t>{10, 10, 12, 12, 255, 0, 10}));
  EXPECT_EQ(values<int8_t>(output(Op::kQUANTIZE_LINEAR, {x, f32({}, {2})}, to(DType::kI8))),
            (std::vector<int8_t>{0, 0, 2, 2, 127, -128, 0}));
}

TEST(ReferenceQuantize, ScalesBroadcast) {
  const HostTensor x = f32({2, 2}, {4, 4, 4, 4});
  EXPECT_EQ(values<uint8_t>(output(Op::kQUANTIZE_LINEAR, {x, f32({2, 1}, {1, 2}), u8({2}, {0, 1})})),
            (std::vector<uint8_t>{4, 5, 2, 3}));
}

TEST(ReferenceQuantize, Dequantize) {
  const HostTensor x = u8({3}, {0, 128, 255});
  EXPECT_EQ(values<float>(output(Op::kDEQUANTIZE_LINEAR, {x, f32({}, {0.5f}), u8({}, {128})})),
            (std::vector<float>{-64, 0, 63.5f}));
}

TEST(ReferenceQuantize, DynamicRangeHoldsZero) {
  const auto made = outputs(Op::kDYNAMIC_QUANTIZE_LINEAR, {f32({3}, {255, 510, 51})});
  EXPECT_EQ(values<float>(made[1]), std::vector<float>{2});
  EXPECT_EQ(values<uint8_t>(made[2]), std::vector<uint8_t>{0});
  EXPECT_EQ(values<uint8_t>(made[0]), (std::vector<uint8_t>{128, 255, 26}));  // 127.5 and 25.5 to even
  EXPECT_EQ(values<float>(outputs(Op::kDYNAMIC_QUANTIZE_LINEAR, {f32({2}, {0, 0})})[1]), std::vector<float>{1});
}

TEST(ReferenceQuantize, IntegerProductsSubtractZeroPoints) {
  const HostTensor a = u8({1, 2}, {10, 12}), b = i8({2, 1}, {-1, 3});
  EXPECT_EQ(values<int32_t>(output(Op::kMATMUL_INTEGER, {a, b, u8({}, {10}), i8({1}, {1})})), std::vector<int32_t>{4});
  EXPECT_EQ(values<int32_t>(output(Op::kMATMUL_INTEGER, {a, b})), std::vector<int32_t>{26});
  const HostTensor x = u8({1, 1, 3}, {3, 4, 5}), w = u8({1, 1, 2}, {1, 2});
  EXPECT_EQ(values<int32_t>(output(Op::kCONV_INTEGER, {x, w, u8({}, {3})}, {{BP_ATTR_PADS, I64s{1, 0}}})),
            (std::vector<int32_t>{0, 2, 5}));
}

}  // namespace
}  // namespace backplane::reference
