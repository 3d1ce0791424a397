#include "inference_helpers.hpp"

namespace backplane {
namespace {

using namespace testing;

// T=7, N=2, I=3, H=4.
Inputs cell_inputs(int64_t gates, int64_t directions) {
  return {
      f32({7, 2, 3}), f32({directions, gates * 4, 3}), f32({directions, gates * 4, 4}), f32({directions, gates * 8}),
      i32({2}),       f32({directions, 2, 4})};
}

TEST(InferenceRecurrent, Lstm) {
  Inputs inputs = cell_inputs(4, 2);
  inputs.push_back(f32({2, 2, 4}));
  inputs.push_back(f32({2, 12}));
  const AttrList attrs = {{BP_ATTR_DIRECTION, text("bidirectional")}, {BP_ATTR_HIDDEN_SIZE, num(4)}};
  EXPECT_EQ(shape_of(Op::kLSTM, inputs, attrs), (Shape{7, 2, 2, 4}));
  EXPECT_EQ(shape_of(Op::kLSTM, inputs, attrs, DType::kF32, 1), (Shape{2, 2, 4}));
  EXPECT_EQ(shape_of(Op::kLSTM, inputs, attrs, DType::kF32, 2), (Shape{2, 2, 4}));
  expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_HIDDEN_SIZE, num(4)}}, "[D, gates*H, I] = [1, 16, 3]");
  inputs[7] = f32({2, 4});
  expect_refusal(Op::kLSTM, inputs, attrs, "input 7");
}

TEST(InferenceRecurrent, GruAndRnnHaveNoCellState) {
  EXPECT_EQ(shape_of(Op::kGRU, cell_inputs(3, 1), {{BP_ATTR_LINEAR_BEFORE_RESET, num(1)}}), (Shape{7, 1, 2, 4}));
  EXPECT_EQ(shape_of(Op::kRNN, cell_inputs(1, 1), {{BP_ATTR_DIRECTION, text("reverse")}}), (Shape{7, 1, 2, 4}));
  EXPECT_EQ(infer(Op::kGRU, cell_inputs(3, 1), {})->size(), 2u);
  Inputs seven = cell_inputs(3, 1);
  seven.push_back(f32({1, 2, 4}));
  expect_refusal(Op::kGRU, seven, {}, "takes 3 to 6");
}

TEST(InferenceRecurrent, OptionalInputsMayBeAbsent) {
  Inputs inputs = cell_inputs(3, 1);
  inputs[3] = inputs[4] = std::nullopt;
  EXPECT_EQ(shape_of(Op::kGRU, inputs), (Shape{7, 1, 2, 4}));
  inputs.resize(3);
  EXPECT_EQ(shape_of(Op::kGRU, inputs), (Shape{7, 1, 2, 4}));
  inputs[2] = std::nullopt;
  expect_refusal(Op::kGRU, inputs, {}, "input 2 is missing");
}

TEST(InferenceRecurrent, EveryShapeIsChecked) {
  for (size_t i = 0; i < 6; ++i) {
    Inputs inputs = cell_inputs(4, 1);
    inputs[i]->shape.back() += 1;
    expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_HIDDEN_SIZE, num(4)}}, "must have shape");
    inputs[i]->shape.push_back(1);
    const auto specs = infer(Op::kLSTM, inputs, {});
    EXPECT_FALSE(specs.ok()) << "input " << i;
  }
}

TEST(InferenceRecurrent, EveryTypeIsChecked) {
  for (size_t i = 1; i < 6; ++i) {
    Inputs inputs = cell_inputs(4, 1);
    inputs[i]->dtype = DType::kI64;
    expect_refusal(Op::kLSTM, inputs, {}, std::string("input ") + std::to_string(i));
  }
}

TEST(InferenceRecurrent, Activations) {
  const auto activations = [](const char* names) { return AttrList{{BP_ATTR_ACTIVATIONS, text(names)}}; };
  EXPECT_EQ(shape_of(Op::kGRU, cell_inputs(3, 1), activations("HardSigmoid,Relu")), (Shape{7, 1, 2, 4}));
  expect_refusal(Op::kGRU, cell_inputs(3, 1), activations("Tanh"), "there must be 2");
  expect_refusal(Op::kGRU, cell_inputs(3, 1), activations("Tanh,Gelu"), "'Gelu' in activations");
  expect_refusal(Op::kGRU, cell_inputs(3, 1), activations("Tanh,"), "'' in activations");
  expect_refusal(Op::kRNN, cell_inputs(1, 1), {{BP_ATTR_ACTIVATION_ALPHA, reals({1, 2})}}, "activation_alpha");
}

TEST(InferenceRecurrent, AttributeValues) {
  const Inputs inputs = cell_inputs(4, 1);
  expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_DIRECTION, text("backward")}}, "direction is 'backward'");
  expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_HIDDEN_SIZE, num(5)}}, "[1, 20, 3]");
  expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_HIDDEN_SIZE, num(INT64_MAX)}}, "2^63");
  expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_CELL_CLIP, real(-1)}}, "cell_clip");
  expect_refusal(Op::kLSTM, inputs, {{BP_ATTR_LINEAR_BEFORE_RESET, num(1)}}, "no attribute");
}

}  // namespace
}  // namespace backplane
