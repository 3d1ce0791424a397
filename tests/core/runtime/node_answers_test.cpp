#include "backplane/runtime/node_answers.hpp"

#include <gtest/gtest.h>

namespace backplane {
namespace {

TEST(NodeAnswers, ReasonsStayWithinTheText) {
  const std::string text("first\0second", 12);  // the last one is not ended
  const NodeAnswers answers(
      {{BP_VERDICT_NO, 0, 0}, {BP_VERDICT_SLOW, 6, 5}, {BP_VERDICT_NO, 12, 0}, {BP_VERDICT_YES, BP_NONE, 3}}, text);
  EXPECT_EQ(answers[0].reason, "first");
  EXPECT_EQ(answers[1].reason, "second");
  EXPECT_EQ(answers[1].alias_mask, 5u);
  EXPECT_EQ(answers[2].reason, "");
  EXPECT_EQ(answers[3].reason, "");
  EXPECT_FALSE(answers[0].runs());
  EXPECT_TRUE(answers[1].runs());
}

TEST(NodeAnswers, AreReplaced) {
  NodeAnswers answers({{BP_VERDICT_YES, BP_NONE, 1}, {BP_VERDICT_NO, 0, 0}}, "why");
  answers.set(0, BP_VERDICT_NO, "refused");
  EXPECT_EQ(answers[0].verdict, uint32_t{BP_VERDICT_NO});
  EXPECT_EQ(answers[0].alias_mask, 0u);
  EXPECT_EQ(answers[0].reason, "refused");
  EXPECT_EQ(answers[1].reason, "why");
  answers.set(1, BP_VERDICT_PREFERRED);
  EXPECT_EQ(answers[1].reason, "");
}

}  // namespace
}  // namespace backplane
