#include "evaluation.hpp"

namespace backplane::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Hidden size 1, so that every gate is one line of school arithmetic: pre = w x + r h + wb + rb.
constexpr double kW[] = {0.5, -0.3, 0.8, 0.2}, kR[] = {0.1, 0.4, -0.6, 0.7},
                 kB[] = {0.05, -0.1, 0.2, 0.3, 0.01, 0.02, 0.03, 0.04};
constexpr double kX[] = {1.0, -2.0, 0.5};

double pre(size_t gate, size_t gates, double x, double h) {
  return kW[gate] * x + kR[gate] * h + kB[gate] + kB[gates + gate];
}

std::vector<HostTensor> weights(int64_t gates) {
  const auto count = static_cast<size_t>(gates);
  return {f64({3, 1, 1}, {kX[0], kX[1], kX[2]}), f64({1, gates, 1}, F64s(kW, kW + count)),
          f64({1, gates, 1}, F64s(kR, kR + count)), f64({1, 2 * gates}, F64s(kB, kB + 2 * count))};
}

void expect_close(const HostTensor& actual, const F64s& expected) {
  const F64s got = values<double>(actual);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-14) << "element " << i;
}

struct LstmState {
  double h, c;
};

LstmState lstm_step(double x, LstmState s, const double* p, bool input_forget) {
  const double i = sigmoid(pre(0, 4, x, s.h) + p[0] * s.c);
  const double f = input_forget ? 1 - i : sigmoid(pre(2, 4, x, s.h) + p[2] * s.c);
  const double c = f * s.c + i * std::tanh(pre(3, 4, x, s.h));
  const double o = sigmoid(pre(1, 4, x, s.h) + p[1] * c);
  return {o * std::tanh(c), c};
}

TEST(ReferenceLstm, ForwardFromGivenState) {
  std::vector<HostTensor> inputs = weights(4);
  inputs.push_back(HostTensor());
  inputs.push_back(f64({1, 1, 1}, {0.25}));
  inputs.push_back(f64({1, 1, 1}, {-0.5}));
  const double none[3] = {};
  LstmState s{0.25, -0.5};
  F64s expected;
  for (const double x : kX) expected.push_back((s = lstm_step(x, s, none, false)).h);
  const auto y = outputs(Op::kLSTM, inputs);
  EXPECT_EQ(y[0].shape(), (Shape{3, 1, 1, 1}));
  expect_close(y[0], expected);
  expect_close(y[1], {s.h});
  expect_close(y[2], {s.c});
}

TEST(ReferenceLstm, ReverseWithPeepholesAndCoupledGates) {
  std::vector<HostTensor> inputs = weights(4);
  inputs.resize(7);
  inputs.push_back(f64({1, 3}, {0.3, -0.2, 0.9}));
  const double peepholes[3] = {0.3, -0.2, 0.9};
  for (const int64_t coupled : {0, 1}) {
    LstmState s{0, 0};
    F64s expected(3);
    for (size_t t = 3; t-- > 0;) expected[t] = (s = lstm_step(kX[t], s, peepholes, coupled != 0)).h;
    const auto y =
        outputs(Op::kLSTM, inputs, {{BP_ATTR_DIRECTION, std::string("reverse")}, {BP_ATTR_INPUT_FORGET, coupled}});
    expect_close(y[0], expected);
    expect_close(y[1], {expected[0]});
  }
}

double gru_step(double x, double h, bool linear_before_reset) {
  const double z = sigmoid(pre(0, 3, x, h)), r = sigmoid(pre(1, 3, x, h));
  const double state = linear_before_reset ? r * (kR[2] * h + kB[5]) : kR[2] * (r * h) + kB[5];
  return (1 - z) * std::tanh(kW[2] * x + kB[2] + state) + z * h;
}

TEST(ReferenceGru, BothOrdersOfTheReset) {
  for (const int64_t linear : {0, 1}) {
    double h = 0;
    F64s expected;
    for (const double x : kX) expected.push_back(h = gru_step(x, h, linear != 0));
    const auto y = outputs(Op::kGRU, weights(3), {{BP_ATTR_LINEAR_BEFORE_RESET, linear}});
    ASSERT_EQ(y.size(), 2u);
    expect_close(y[0], expected);
    expect_close(y[1], {h});
  }
}

TEST(ReferenceRnn, HiddenUnitsMix) {
  // h' = tanh(W x + R h) with W = [1, 0]ᵀ and R swapping the two units.
  const auto y = outputs(Op::kRNN, {f64({2, 1, 1}, {0.5, 0}), f64({1, 2, 1}, {1, 0}), f64({1, 2, 2}, {0, 1, 1, 0})});
  expect_close(y[0], {std::tanh(0.5), 0, 0, std::tanh(std::tanh(0.5))});
}

TEST(ReferenceRnn, BidirectionalWithLengths) {
  // R = 0 and Affine activations: each step gives w x, so only order and lengths matter.
  const HostTensor x = f64({3, 2, 1}, {1, 10, 2, 20, 3, 30});
  const std::vector<HostTensor> inputs{x, f64({2, 1, 1}, {1, -1}), f64({2, 1, 1}, {0, 0}), HostTensor(),
                                       i32({2}, {2, 3})};
  const AttrList attrs{{BP_ATTR_DIRECTION, std::string("bidirectional")},
                       {BP_ATTR_ACTIVATIONS, std::string("Affine,Affine")}};
  const auto y = outputs(Op::kRNN, inputs, attrs);
  expect_close(y[0], {1, 10, -1, -10, 2, 20, -2, -20, 0, 30, 0, -30});
  expect_close(y[1], {2, 30, -1, -10});
}

TEST(ReferenceRnn, ActivationsTakeAlphaAndBetaInOrder) {
  const std::vector<HostTensor> inputs{f64({1, 1, 1}, {-2}), f64({2, 1, 1}, {1, 1}), f64({2, 1, 1}, {0, 0})};
  const auto run = [&](const std::string& names, F64s alphas, F64s betas) {
    AttrList attrs{{BP_ATTR_DIRECTION, std::string("bidirectional")}, {BP_ATTR_ACTIVATIONS, names}};
    if (!alphas.empty()) attrs.set(BP_ATTR_ACTIVATION_ALPHA, alphas);
    if (!betas.empty()) attrs.set(BP_ATTR_ACTIVATION_BETA, betas);
    return outputs(Op::kRNN, inputs, attrs)[1];
  };
  expect_close(run("LeakyRelu,Affine", {0.5, 3}, {7}), {-1, 1});
  expect_close(run("Relu,LeakyRelu", {0.25}, {}), {0, -0.5});
  expect_close(run("ScaledTanh,HardSigmoid", {2, 0.1}, {0.5, 0.6}), {2 * std::tanh(-1.0), 0.4});
  expect_close(run("Elu,Softsign", {}, {}), {std::exp(-2.0) - 1, -2.0 / 3});
  expect_close(run("Softplus,ThresholdedRelu", {}, {}), {std::log(1 + std::exp(-2.0)), 0});
}

TEST(ReferenceRnn, ClipBoundsWhatActivationsSee) {
  const std::vector<HostTensor> inputs{f64({1, 1, 1}, {-2}), f64({1, 1, 1}, {1}), f64({1, 1, 1}, {0})};
  expect_close(outputs(Op::kRNN, inputs, {{BP_ATTR_CELL_CLIP, 0.5}})[1], {std::tanh(-0.5)});
}

TEST(ReferenceLstm, ClipBoundsTheGatesAndNotTheCell) {
  const std::vector<HostTensor> inputs{
      f64({1, 1, 1}, {2}), f64({1, 4, 1}, {1, 1, 1, 1}), f64({1, 4, 1}, {0, 0, 0, 0}), HostTensor(),
      HostTensor(),        f64({1, 1, 1}, {0}),          f64({1, 1, 1}, {10})};
  const double gate = sigmoid(0.5), cell = gate * 10 + gate * std::tanh(0.5);
  const auto y = outputs(Op::kLSTM, inputs, {{BP_ATTR_CELL_CLIP, 0.5}});
  expect_close(y[1], {gate * std::tanh(cell)});
  expect_close(y[2], {cell});
}

TEST(ReferenceRnn, LengthOutsideIsOutOfRange) {
  for (const int32_t length : {-1, 4}) {
    std::vector<HostTensor> inputs = weights(1);
    inputs.push_back(i32({1}, {length}));
    EXPECT_EQ(failure(Op::kRNN, inputs), Code::out_of_range);
  }
}

}  // namespace
}  // namespace backplane::reference
