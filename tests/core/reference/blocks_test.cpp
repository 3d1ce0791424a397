// Block-quantised types: values of blocks that are written down byte by byte, and what quantisation keeps.
#include <cstring>
#include <random>

#include "evaluation.hpp"

namespace backplane::reference {
namespace {

constexpr DType kBlockTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kQ4_K, DType::kQ6_K};

AttrList to(DType dtype) { return {{BP_ATTR_TO, static_cast<int64_t>(dtype)}}; }

HostTensor one_block(DType dtype, const std::vector<std::pair<size_t, uint8_t>>& bytes) {
  HostTensor block = HostTensor::zeros(dtype, {type_layout(dtype).block_elements}).value();
  for (const auto& [at, byte] : bytes) block.mutable_bytes()[at] = static_cast<std::byte>(byte);
  return block;
}

std::vector<float> decoded(const HostTensor& x) { return values<float>(output(Op::kCAST, {x}, to(DType::kF32))); }

std::vector<float> random_values(size_t count, float low, float high) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> real(low, high);
  std::vector<float> x(count);
  for (float& value : x) value = real(engine);
  return x;
}

std::vector<float> there_and_back(DType dtype, const std::vector<float>& x) {
  return decoded(output(Op::kCAST, {f32({static_cast<int64_t>(x.size())}, x)}, to(dtype)));
}

TEST(Blocks, Q8_0) {
  const auto x = decoded(one_block(DType::kQ8_0, {{0, 0x00}, {1, 0x38}, {2, 3}, {33, 0x80}}));  // d = 0.5
  EXPECT_EQ(x[0], 1.5f);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[31], -64);
}

TEST(Blocks, Q4_0) {
  const auto x = decoded(one_block(DType::kQ4_0, {{0, 0x00}, {1, 0x40}, {2, 0xF0}, {17, 0x91}}));  // d = 2
  EXPECT_EQ(x[0], -16);
  EXPECT_EQ(x[16], 14);
  EXPECT_EQ(x[15], -14);
  EXPECT_EQ(x[31], 2);
}

// d = 1, d of minima = 0.5; sub-block 0 has scale 3 and minimum 2, sub-block 5 has 42 and 21.
TEST(Blocks, Q4_K) {
  const auto x = decoded(one_block(DType::kQ4_K, {{1, 0x3C},
                                                  {3, 0x38},
                                                  {4 + 0, 3},
                                                  {4 + 4, 2},
                                                  {4 + 1, 2 << 6},
                                                  {4 + 5, 1 << 6},
                                                  {4 + 9, 10 | 5 << 4},
                                                  {16, 7},
                                                  {80, 4 << 4}}));
  EXPECT_EQ(x[0], 3 * 7 - 0.5f * 2);
  EXPECT_EQ(x[1], -1);
  EXPECT_EQ(x[160], 42 * 4 - 0.5f * 21);
  EXPECT_EQ(x[161], -10.5f);
  EXPECT_EQ(x[128], 0);
}

// d = 0.25; the first scale is -3, the last 2.
TEST(Blocks, Q6_K) {
  const auto x = decoded(one_block(
      DType::kQ6_K, {{209, 0x34}, {192, 0xFD}, {207, 2}, {0, 5}, {128, 2}, {127, 0xF0}, {191, 0xC0}, {16, 1}}));
  EXPECT_EQ(x[0], 0.25f * -3 * 5);
  EXPECT_EQ(x[1], 0.25f * -3 * -32);
  EXPECT_EQ(x[255], 0.25f * 2 * 31);
  EXPECT_EQ(x[16], 0);  // of a sub-block whose scale is 0
}

// The error is at most half a step, and where the range is not symmetric a whole one at its far end.
TEST(Blocks, QuantisationIsClose) {
  const struct {
    DType dtype;
    float low, high, error;
  } cases[] = {{DType::kQ8_0, -4, 4, 4.0f / 127 * 0.51f},
               {DType::kQ4_0, -4, 4, 4.0f / 8 * 1.01f},
               {DType::kQ4_K, -1, 4, 5.0f / 15 * 0.75f},
               {DType::kQ4_K, 2, 4, 4.0f / 15 * 0.75f},
               {DType::kQ6_K, -4, 4, 4.0f / 32 * 1.05f}};
  for (const auto& c : cases) {
    const std::vector<float> x = random_values(1024, c.low, c.high), y = there_and_back(c.dtype, x);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], c.error) << type_name(c.dtype) << " " << i;
  }
}

TEST(Blocks, WholeStepsAreKept) {
  std::vector<float> x(32);
  for (int i = 0; i < 32; ++i) x[static_cast<size_t>(i)] = 0.25f * static_cast<float>(i * 8 - 124 + (i == 31 ? 3 : 0));
  x[31] = 0.25f * 127;
  EXPECT_EQ(there_and_back(DType::kQ8_0, x), x);
}

TEST(Blocks, ZerosAndSpecialValues) {
  for (const DType dtype : kBlockTypes) {
    EXPECT_EQ(there_and_back(dtype, std::vector<float>(256, 0)), std::vector<float>(256, 0)) << type_name(dtype);
    std::vector<float> x(256, 1);
    x[3] = kNan;
    x[100] = kInf;
    x[200] = -kInf;
    for (const float value : there_and_back(dtype, x)) EXPECT_TRUE(std::isfinite(value)) << type_name(dtype);
    EXPECT_LT(std::fabs(there_and_back(dtype, x)[3]), 1e-3f) << type_name(dtype);
    EXPECT_GT(there_and_back(dtype, x)[100], 1000) << type_name(dtype);
    EXPECT_LT(there_and_back(dtype, x)[200], -1000) << type_name(dtype);
  }
}

TEST(Blocks, RowsAreGatheredWhole) {
  const std::vector<float> x = random_values(3 * 256, -1, 1);
  for (const DType dtype : kBlockTypes) {
    const HostTensor table = output(Op::kCAST, {f32({3, 256}, x)}, to(dtype));
    const HostTensor rows = output(Op::kGATHER, {table, i64({2}, {-1, 0})});
    const std::vector<float> all = decoded(table), got = decoded(rows);
    EXPECT_EQ(std::vector<float>(got.begin(), got.begin() + 256), std::vector<float>(all.begin() + 512, all.end()));
    EXPECT_EQ(std::vector<float>(got.begin() + 256, got.end()), std::vector<float>(all.begin(), all.begin() + 256));
  }
}

TEST(Blocks, ProductsAreWithRows) {
  HostTensor weights = output(Op::kCAST, {f32({2, 256}, random_values(512, -1, 1))}, to(DType::kQ8_0));
  std::vector<float> x(256, 0);
  x[5] = 2;
  const std::vector<float> w = decoded(weights);
  EXPECT_EQ(values<float>(output(Op::kMATMUL, {f32({1, 256}, x), weights})),
            (std::vector<float>{2 * w[5], 2 * w[256 + 5]}));
}

TEST(Blocks, OnlyFloatsAreCast) {
  const HostTensor x = HostTensor::zeros(DType::kI32, {256}).value();
  EXPECT_EQ(failure(Op::kCAST, {x}, to(DType::kQ8_0)), Code::invalid_argument);
  const HostTensor blocks = HostTensor::zeros(DType::kQ8_0, {256}).value();
  EXPECT_EQ(failure(Op::kCAST, {blocks}, to(DType::kI32)), Code::invalid_argument);
  EXPECT_EQ(failure(Op::kCAST, {blocks}, to(DType::kQ4_0)), Code::invalid_argument);
}

}  // namespace
}  // namespace backplane::reference
