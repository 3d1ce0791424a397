#include "evaluation.hpp"

namespace backplane::reference {
namespace {

constexpr int64_t kBig = (int64_t{1} << 53) + 1;

AttrList over(I64s axes, bool keepdims = true) { return {{BP_ATTR_AXES, axes}, {BP_ATTR_KEEPDIMS, int64_t{keepdims}}}; }

TEST(ReferenceReduce, AxesAndKeepdims) {
  const HostTensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values<float>(output(Op::kREDUCE_SUM, {x}, over({0}))), (std::vector<float>{5, 7, 9}));
  const HostTensor rows = output(Op::kREDUCE_SUM, {x}, over({1}, false));
  EXPECT_EQ(rows.shape(), (Shape{2}));
  EXPECT_EQ(values<float>(rows), (std::vector<float>{6, 15}));
  EXPECT_EQ(output(Op::kREDUCE_SUM, {x}, over({0, 1})).shape(), (Shape{1, 1}));
  EXPECT_EQ(values<float>(output(Op::kREDUCE_SUM, {x}, over({}))), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  const HostTensor cube = i32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values<int32_t>(output(Op::kREDUCE_SUM, {cube}, over({0, 2}))), (std::vector<int32_t>{14, 22}));
}

TEST(ReferenceReduce, EachKind) {
  const HostTensor x = f32({3}, {3, -4, 1});
  const auto reduce = [&](Op op) { return values<float>(output(op, {x}, over({0})))[0]; };
  EXPECT_EQ(reduce(Op::kREDUCE_MEAN), 0);
  EXPECT_EQ(reduce(Op::kREDUCE_MAX), 3);
  EXPECT_EQ(reduce(Op::kREDUCE_MIN), -4);
  EXPECT_EQ(reduce(Op::kREDUCE_PROD), -12);
  EXPECT_EQ(reduce(Op::kREDUCE_L1), 8);
  EXPECT_FLOAT_EQ(reduce(Op::kREDUCE_L2), 5.0990195f);
  EXPECT_EQ(reduce(Op::kREDUCE_SUM_SQUARE), 26);
  EXPECT_EQ(reduce(Op::kREDUCE_LOG_SUM), -kInf);  // the sum is 0
  EXPECT_FLOAT_EQ(reduce(Op::kREDUCE_LOG_SUM_EXP), 3.1277299f);
}

TEST(ReferenceReduce, Empty) {
  const HostTensor none = f32({0}, {});
  const auto reduce = [&](Op op) { return values<float>(output(op, {none}, over({0}))); };
  expect_same(reduce(Op::kREDUCE_SUM), {0});
  expect_same(reduce(Op::kREDUCE_PROD), {1});
  expect_same(reduce(Op::kREDUCE_MAX), {-kInf});
  expect_same(reduce(Op::kREDUCE_MIN), {kInf});
  expect_same(reduce(Op::kREDUCE_MEAN), {kNan});
  expect_same(reduce(Op::kREDUCE_LOG_SUM), {-kInf});
  expect_same(reduce(Op::kREDUCE_LOG_SUM_EXP), {-kInf});
  const HostTensor integers = i8({0}, {});
  EXPECT_EQ(values<int8_t>(output(Op::kREDUCE_MAX, {integers}, over({0}))), (std::vector<int8_t>{-128}));
  EXPECT_EQ(values<int8_t>(output(Op::kREDUCE_MIN, {integers}, over({0}))), (std::vector<int8_t>{127}));
  EXPECT_EQ(values<int8_t>(output(Op::kREDUCE_MEAN, {integers}, over({0}))), (std::vector<int8_t>{0}));
  EXPECT_EQ(output(Op::kREDUCE_SUM, {f32({0, 2}, {})}, over({1})).shape(), (Shape{0, 1}));
}

TEST(ReferenceReduce, Integers) {
  EXPECT_EQ(values<int64_t>(output(Op::kREDUCE_SUM, {i64({2}, {kBig, 1})}, over({0}))), (I64s{kBig + 1}));
  EXPECT_EQ(values<int64_t>(output(Op::kREDUCE_PROD, {i64({2}, {kBig, 3})}, over({0}))), (I64s{kBig * 3}));
  EXPECT_EQ(values<int64_t>(output(Op::kREDUCE_MAX, {i64({2}, {kBig, kBig - 1})}, over({0}))), (I64s{kBig}));
  EXPECT_EQ(values<int64_t>(output(Op::kREDUCE_MEAN, {i64({2}, {-3, 0})}, over({0}))), (I64s{-1}));
  EXPECT_EQ(values<int8_t>(output(Op::kREDUCE_SUM, {i8({2}, {100, 100})}, over({0}))), (std::vector<int8_t>{-56}));
  EXPECT_EQ(values<int64_t>(output(Op::kREDUCE_L2, {i64({2}, {3, 4})}, over({0}))), (I64s{5}));
}

TEST(ReferenceReduce, NanAndInfinity) {
  expect_same(values<float>(output(Op::kREDUCE_MAX, {f32({3}, {1, kNan, 2})}, over({0}))), {kNan});
  expect_same(values<float>(output(Op::kREDUCE_MIN, {f32({3}, {kNan, 1, 2})}, over({0}))), {kNan});
  expect_same(values<float>(output(Op::kREDUCE_LOG_SUM_EXP, {f32({2}, {-kInf, -kInf})}, over({0}))), {-kInf});
  expect_same(values<float>(output(Op::kREDUCE_LOG_SUM_EXP, {f32({2}, {1, kInf})}, over({0}))), {kInf});
  expect_near(output(Op::kREDUCE_LOG_SUM_EXP, {f32({2}, {1000, 1000})}, over({0})), {1000.6931f}, 1e-4f);
}

TEST(ReferenceReduce, BoolMaxIsOrAndMinIsAnd) {
  const HostTensor x = boolean({2, 2}, {1, 0, 1, 1});
  EXPECT_EQ(values<uint8_t>(output(Op::kREDUCE_MAX, {x}, over({0}))), (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(values<uint8_t>(output(Op::kREDUCE_MIN, {x}, over({0}))), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(values<uint8_t>(output(Op::kREDUCE_MIN, {boolean({0}, {})}, over({0}))), (std::vector<uint8_t>{1}));
}

TEST(ReferenceArg, TiesAxesAndNan) {
  const HostTensor x = f32({2, 3}, {2, 5, 5, 1, kNan, 0});
  const AttrList axis{{BP_ATTR_AXIS, int64_t{1}}};
  const AttrList last{
      {BP_ATTR_AXIS, int64_t{1}}, {BP_ATTR_SELECT_LAST_INDEX, int64_t{1}}, {BP_ATTR_KEEPDIMS, int64_t{0}}};
  EXPECT_EQ(values<int64_t>(output(Op::kARG_MAX, {x}, axis)), (I64s{1, 1}));
  EXPECT_EQ(values<int64_t>(output(Op::kARG_MIN, {x}, axis)), (I64s{0, 1}));
  const HostTensor late = output(Op::kARG_MAX, {x}, last);
  EXPECT_EQ(late.shape(), (Shape{2}));
  EXPECT_EQ(values<int64_t>(late), (I64s{2, 1}));
  EXPECT_EQ(values<int64_t>(output(Op::kARG_MAX, {i64({3}, {kBig - 1, kBig, 0})})), (I64s{1}));
  EXPECT_EQ(
      values<int64_t>(output(Op::kARG_MAX, {f32({3}, {kNan, 1, kNan})}, {{BP_ATTR_SELECT_LAST_INDEX, int64_t{1}}})),
      (I64s{2}));
}

}  // namespace
}  // namespace backplane::reference
