#include "backplane/graph/types.hpp"

#include <gtest/gtest.h>

namespace backplane {
namespace {

TEST(Types, NamesAndIdsGoBothWays) {
  EXPECT_EQ(type_name(DType::kBF16), "bf16");
  EXPECT_EQ(type_name(DType::kBOOL), "bool");
  EXPECT_EQ(type_name(DType::kQ4_K), "q4_K");
  EXPECT_EQ(find_type("q6_K"), DType::kQ6_K);
  EXPECT_EQ(find_type("float"), std::nullopt);
  EXPECT_EQ(type_name(static_cast<DType>(9999)), "unknown");
}

TEST(Types, LayoutsAreThoseOfTheRegistry) {
  EXPECT_EQ(type_layout(DType::kF64).block_bytes, 8u);
  EXPECT_EQ(type_layout(DType::kQ8_0).block_elements, 32u);
  EXPECT_EQ(type_layout(DType::kQ8_0).block_bytes, 34u);
  EXPECT_EQ(type_layout(static_cast<DType>(0)).block_bytes, 0u);
}

TEST(Types, Classes) {
  EXPECT_TRUE(is_float(DType::kF16));
  EXPECT_FALSE(is_float(DType::kI32));
  EXPECT_FALSE(is_float(DType::kQ8_0));
  EXPECT_TRUE(is_integer(DType::kU8));
  EXPECT_FALSE(is_integer(DType::kBOOL));
  EXPECT_TRUE(is_plain(DType::kBOOL));
  EXPECT_FALSE(is_plain(DType::kQ4_0));
  EXPECT_FALSE(is_plain(static_cast<DType>(0)));
}

TEST(Types, OpsAndAttributes) {
  EXPECT_EQ(op_name(Op::kNOT), "not");
  EXPECT_EQ(op_name(Op::kREDUCE_LOG_SUM_EXP), "reduce_log_sum_exp");
  EXPECT_EQ(find_op("and"), Op::kAND);
  EXPECT_EQ(find_op("nonsense"), std::nullopt);
  EXPECT_EQ(op_version(Op::kMATMUL), 1u);
  EXPECT_EQ(op_version(static_cast<Op>(1)), 0u);
  EXPECT_EQ(attr_name(BP_ATTR_COORDINATE_MODE), "coordinate_transformation_mode");
  EXPECT_EQ(attr_name(60000), "unknown");
}

}  // namespace
}  // namespace backplane
