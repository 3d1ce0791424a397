#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

constexpr int64_t kHuge = int64_t{1} << 62;

TEST(InferenceMovement, CopyAndCast) {
  EXPECT_EQ(shape_of(Op::kCOPY, {boolean({2, 3})}, {}, DType::kBOOL), (Shape{2, 3}));
  EXPECT_EQ(shape_of(Op::kCAST, {f32({2})}, {{BP_ATTR_TO, num(BP_TYPE_BOOL)}}, DType::kBOOL), Shape{2});
  expect_refusal(Op::kCAST, {f32({2})}, {}, "to is missing");
  expect_refusal(Op::kCAST, {f32({2})}, {{BP_ATTR_TO, num(BP_TYPE_Q8_0)}}, "not a multiple");
  expect_refusal(Op::kCAST, {f32({2})}, {{BP_ATTR_TO, num(5000)}}, "5000");
  expect_refusal(Op::kCAST, {f32({2})}, {{BP_ATTR_TO, num((int64_t{1} << 32) + BP_TYPE_F32)}}, "to is");
}

TEST(InferenceMovement, Concat) {
  const AttrList axis1{{BP_ATTR_AXIS, num(1)}};
  EXPECT_EQ(shape_of(Op::kCONCAT, {f32({2, 3}), f32({2, 0}), f32({2, 4})}, axis1), (Shape{2, 7}));
  EXPECT_EQ(shape_of(Op::kCONCAT, {f32({2, 3})}, axis1), (Shape{2, 3}));
  expect_refusal(Op::kCONCAT, {}, axis1, "takes 1 or more inputs");
  expect_refusal(Op::kCONCAT, {f32({2, 3}), std::nullopt}, axis1, "input 1 is missing");
  expect_refusal(Op::kCONCAT, {f32({2, 3}), f32({3, 3})}, axis1, "another extent than axis 1");
  expect_refusal(Op::kCONCAT, {f32({2, 3}), f32({2})}, axis1, "rank");
  expect_refusal(Op::kCONCAT, {f32({2, 3}), i32({2, 3})}, axis1, "type of input 0");
  expect_refusal(Op::kCONCAT, {f32({2, 3})}, {}, "axis is missing");
  expect_refusal(Op::kCONCAT, {f32({2, 3})}, {{BP_ATTR_AXIS, num(-1)}}, "axis is -1");
  expect_refusal(Op::kCONCAT, {u8({1, kHuge}), u8({1, kHuge})}, axis1, "2^63");
}

TEST(InferenceMovement, Pad) {
  EXPECT_EQ(shape_of(Op::kPAD, {f32({2, 3}), f32({})}, {{BP_ATTR_PADS, list({1, 0, 0, 2})}}), (Shape{3, 5}));
  const auto padded = [](int64_t pad, const char* mode) {
    return AttrList{{BP_ATTR_PADS, list({pad, 0})}, {BP_ATTR_MODE, text(mode)}};
  };
  EXPECT_EQ(shape_of(Op::kPAD, {f32({3})}, padded(2, "reflect")), Shape{5});
  EXPECT_EQ(shape_of(Op::kPAD, {f32({3})}, padded(7, "wrap")), Shape{10});
  expect_refusal(Op::kPAD, {f32({3})}, padded(3, "reflect"), "below its extent 3");
  expect_refusal(Op::kPAD, {f32({0})}, padded(1, "edge"), "no elements");
  EXPECT_EQ(shape_of(Op::kPAD, {f32({0})}, padded(1, "constant")), Shape{1});
  expect_refusal(Op::kPAD, {f32({3})}, padded(1, "mirror"), "mode is 'mirror'");
  expect_refusal(Op::kPAD, {f32({3})}, padded(-1, "constant"), "below 0");
  expect_refusal(Op::kPAD, {f32({3})}, {{BP_ATTR_PADS, list({1})}}, "2 entries");
  expect_refusal(Op::kPAD, {f32({3})}, {}, "pads is missing");
  expect_refusal(Op::kPAD, {f32({3}), f32({2})}, padded(1, "constant"), "input 1 must be a scalar");
  expect_refusal(Op::kPAD, {f32({3}), i32({})}, padded(1, "constant"), "input 1 must have the type");
  expect_refusal(Op::kPAD, {u8({3})}, padded(INT64_MAX, "constant"), "2^63");
}

TEST(InferenceMovement, Tile) {
  EXPECT_EQ(shape_of(Op::kTILE, {f32({2, 3})}, {{BP_ATTR_REPEATS, list({0, 2})}}), (Shape{0, 6}));
  expect_refusal(Op::kTILE, {f32({2, 3})}, {{BP_ATTR_REPEATS, list({2})}}, "2 entries");
  expect_refusal(Op::kTILE, {f32({2})}, {{BP_ATTR_REPEATS, list({-1})}}, "below 0");
  expect_refusal(Op::kTILE, {u8({4})}, {{BP_ATTR_REPEATS, list({kHuge})}}, "2^63");
}

TEST(InferenceMovement, Gather) {
  EXPECT_EQ(shape_of(Op::kGATHER, {f32({5, 6}), i64({2, 3})}), (Shape{2, 3, 6}));
  EXPECT_EQ(shape_of(Op::kGATHER, {f32({5, 6}), i32({})}, {{BP_ATTR_AXIS, num(1)}}), Shape{5});
  expect_refusal(Op::kGATHER, {f32({5}), f32({2})}, {}, "input 1 must have i32 or i64");
  expect_refusal(Op::kGATHER, {f32({}), i64({2})}, {}, "axis is 0");
}

TEST(InferenceMovement, Reverse) {
  EXPECT_EQ(shape_of(Op::kREVERSE, {f32({5, 6})}, {{BP_ATTR_AXES, list({1})}}), (Shape{5, 6}));
  expect_refusal(Op::kREVERSE, {f32({5, 6})}, {{BP_ATTR_AXES, list({2})}}, "axes are [2]");
}

TEST(InferenceMovement, Resize) {
  const auto with = [](uint32_t key, AttrValue value) {
    AttrList attrs{{BP_ATTR_SIZES, list({2, 8})}};
    attrs.set(key, std::move(value));
    return attrs;
  };
  const Inputs x = {f32({2, 4})};
  EXPECT_EQ(shape_of(Op::kRESIZE, x, with(BP_ATTR_MODE, text("cubic"))), (Shape{2, 8}));
  EXPECT_EQ(shape_of(Op::kRESIZE, x, with(BP_ATTR_SCALES, reals({1, 2}))), (Shape{2, 8}));
  expect_refusal(Op::kRESIZE, x, {}, "sizes is missing");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_SIZES, list({2})), "2 entries");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_SCALES, reals({1})), "scales must have 2");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_SCALES, reals({1, 0})), "positive");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_MODE, text("bilinear")), "mode is 'bilinear'");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_NEAREST_MODE, text("near")), "nearest_mode");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_COORDINATE_MODE, text("tf_crop_and_resize")), "roi must have 4");
  expect_refusal(Op::kRESIZE, x, with(BP_ATTR_EXCLUDE_OUTSIDE, num(3)), "exclude_outside is 3");
  expect_refusal(Op::kRESIZE, {f32({2, 0})}, with(BP_ATTR_MODE, text("linear")), "no elements to resize");
}

}  // namespace
}  // namespace backplane
