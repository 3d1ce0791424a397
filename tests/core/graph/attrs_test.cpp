#include "backplane/graph/attrs.hpp"

#include <gtest/gtest.h>

namespace backplane {
namespace {

TEST(AttrList, SetAddsAndReplaces) {
  AttrList attrs;
  attrs.set(BP_ATTR_AXIS, int64_t{1});
  attrs.set(BP_ATTR_MODE, std::string("edge"));
  attrs.set(BP_ATTR_AXIS, int64_t{2});
  EXPECT_EQ(attrs.items().size(), 2u);
  EXPECT_EQ(attrs.i64(BP_ATTR_AXIS, 7), 2);
  EXPECT_EQ(attrs.text(BP_ATTR_MODE, "x"), "edge");
}

TEST(AttrList, FallbackForAbsentOrOtherType) {
  const AttrList attrs{
      {BP_ATTR_ALPHA, 0.5}, {BP_ATTR_PADS, std::vector<int64_t>{1, 2}}, {BP_ATTR_SCALES, std::vector<double>{2.0}}};
  EXPECT_EQ(attrs.f64(BP_ATTR_ALPHA, 1), 0.5);
  EXPECT_EQ(attrs.i64(BP_ATTR_ALPHA, 3), 3);
  EXPECT_EQ(attrs.f64(BP_ATTR_BETA, 4), 4);
  EXPECT_EQ(attrs.i64s(BP_ATTR_PADS), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(attrs.f64s(BP_ATTR_SCALES), std::vector<double>{2.0});
  EXPECT_TRUE(attrs.f64s(BP_ATTR_PADS).empty());
  EXPECT_FALSE(attrs.has(BP_ATTR_AXIS));
}

}  // namespace
}  // namespace backplane
