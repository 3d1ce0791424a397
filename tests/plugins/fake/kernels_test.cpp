#include <array>

#include "plugin_test_base.hpp"

namespace fake_test {
namespace {

class FakeKernels : public FakePlugin {
 protected:
  FakeKernels() { open({}); }
  // op of `count` pairs (i, 7 i + 3); the result in a buffer of its own, or over operand `over`.
  std::vector<int32_t> run(uint32_t op, uint32_t over = 2, bp_code expected = BP_OK) {
    std::vector<int32_t> other(kElements);
    for (uint32_t i = 0; i < kElements; ++i) other[i] = static_cast<int32_t>(7 * i + 3);
    bp_buffer *a = filled(counting(0)), *b = filled(other), *c = plugin_->buffer(kBytes);
    bp_stream* stream = plugin_->stream();
    bp_buffer* const result_buffer = std::array{a, b, c}[over];
    EXPECT_EQ(submit(stream, op, {a, b}, result_buffer), expected);
    const std::vector<int32_t> result = contents(result_buffer);
    tables().stream_i->destroy(stream);
    destroy({a, b, c});
    return result;
  }
};

TEST_F(FakeKernels, CombineBits) {
  const std::vector<int32_t> both = run(BP_OP_BITWISE_AND), either = run(BP_OP_BITWISE_OR),
                             one = run(BP_OP_BITWISE_XOR);
  for (int32_t i = 0; i < static_cast<int32_t>(kElements); ++i) {
    ASSERT_EQ(both[i], i & (7 * i + 3));
    ASSERT_EQ(either[i], i | (7 * i + 3));
    ASSERT_EQ(one[i], i ^ (7 * i + 3));
  }
}

TEST_F(FakeKernels, WrapIntegers) {
  const std::vector<int32_t> product = run(BP_OP_MUL);
  for (uint32_t i = 0; i < kElements; ++i) ASSERT_EQ(static_cast<uint32_t>(product[i]), i * (7 * i + 3));
}

TEST_F(FakeKernels, ResultsOverOperandsAreTheSame) {
  for (const uint32_t op : {BP_OP_ADD, BP_OP_SUB, BP_OP_MUL, BP_OP_MIN, BP_OP_MAX, BP_OP_BITWISE_XOR})
    for (const uint32_t over : {0u, 1u}) EXPECT_EQ(run(op, over), run(op)) << "op " << op << " over " << over;
}

TEST_F(FakeKernels, ResultsOverOperandsAreRefusedWhereTheDeviceDoesNotAllowThem) {
  open({{"in_place", false}});
  run(BP_OP_ADD, 0, BP_E_INVALID_ARG);
  run(BP_OP_ADD, 2, BP_OK);
}

TEST_F(FakeKernels, ComparisonsNeedABoolOutput) {
  EXPECT_EQ(verdict(BP_OP_LT), BP_VERDICT_NO);
  EXPECT_EQ(verdict(BP_OP_BITWISE_XOR), BP_VERDICT_YES);
}

}  // namespace
}  // namespace fake_test
