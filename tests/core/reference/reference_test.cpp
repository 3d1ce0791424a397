#include "backplane/reference/reference.hpp"

#include <cstring>
#include <memory>
#include <optional>

#include "backplane/graph/inference.hpp"
#include "evaluation.hpp"

namespace backplane::reference {
namespace {

TEST(ReferenceEvaluate, RefusesWhatInferenceRefuses) {
  EXPECT_EQ(failure(Op::kADD, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}), Code::invalid_argument);
  EXPECT_EQ(failure(Op::kADD, {f32({2}, {1, 2})}), Code::invalid_argument);
}

TEST(ReferenceEvaluate, RefusesOpsWithoutDefinition) {
  EXPECT_EQ(failure(Op::kLRN, {f32({2}, {1, 2})}), Code::unimplemented);
  EXPECT_EQ(failure(static_cast<Op>(0x7777), {f32({2}, {1, 2})}), Code::unimplemented);
}

// Every op that inference defines must have an evaluation too.
TEST(ReferenceEvaluate, KnowsEveryUnaryAndBinaryOpThatInferenceKnows) {
  const HostTensor x = f32({2}, {0.25f, 0.5f});
  const HostTensor n = u8({2}, {1, 2});
  const HostTensor b = boolean({2}, {0, 1});
  for (uint32_t id = 0x0200; id < 0x0400; ++id)
    for (const HostTensor& a : {x, n, b})
      for (const size_t count : {size_t{1}, size_t{2}}) {
        const std::vector<HostTensor> inputs(count, a);
        EXPECT_NE(failure(static_cast<Op>(id), inputs), Code::internal);
        const std::vector<std::optional<TensorSpec>> specs(count, TensorSpec{a.dtype(), a.shape()});
        EXPECT_EQ(infer(static_cast<Op>(id), specs, {}).ok(), evaluate(static_cast<Op>(id), inputs, {}).ok())
            << op_name(static_cast<Op>(id)) << " of " << a.to_string();
      }
}

TEST(ReferenceEvaluate, ReadsUnalignedBytes) {
  auto bytes = std::make_shared<std::vector<std::byte>>(9);
  const float value = 1.5f;
  std::memcpy(bytes->data() + 1, &value, sizeof value);
  const auto x = HostTensor::borrow(DType::kF32, {1}, std::span(*bytes).subspan(1, 4), bytes);
  EXPECT_EQ(values<float>(output(Op::kNEG, {*x})), std::vector<float>{-1.5f});
}

}  // namespace
}  // namespace backplane::reference
