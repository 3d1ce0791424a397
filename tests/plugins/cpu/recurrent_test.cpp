// lstm, gru, rnn against the written equations in double: directions, lengths, peepholes, clips, activations.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernel_fixture.hpp"

namespace backplane_cpu::testing {
namespace {

using Function = std::function<double(double)>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double tangent(double x) { return std::tanh(x); }

struct Net {
  uint32_t op = BP_OP_LSTM;
  int64_t steps = 4, batch = 2, inputs = 3, hidden = 5;
  std::string direction = "forward";
  double clip = 0;
  bool couple = false, linear = false;
  std::vector<Function> functions;  // per direction, concatenated
  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  int64_t gates() const { return op == BP_OP_LSTM ? 4 : op == BP_OP_GRU ? 3 : 1; }
};

struct Tensors {
  TestTensor x, w, r, b, h0, c0, p;
  std::vector<int64_t> lengths;
};

Tensors random_tensors(const Net& net, uint32_t dtype, Random& random) {
  const int64_t d = net.directions(), rows = net.gates() * net.hidden;
  const auto tensor = [&](Shape shape) { return TestTensor::random(dtype, std::move(shape), random, -1, 1); };
  Tensors t{tensor({net.steps, net.batch, net.inputs}),
            tensor({d, rows, net.inputs}),
            tensor({d, rows, net.hidden}),
            tensor({d, 2 * rows}),
            tensor({d, net.batch, net.hidden}),
            tensor({d, net.batch, net.hidden}),
            tensor({d, 3 * net.hidden}),
            {}};
  for (int64_t n = 0; n < net.batch; ++n) t.lengths.push_back(random.integer(0, net.steps));
  return t;
}

struct Outputs {
  Values y, h, c;
};

// One direction of one sequence; `in` gives W·x + R·h without biases.
struct Walk {
  const Net& net;
  const Tensors& t;
  int64_t d, n;
  std::vector<double> h, c;

  double bias(int64_t row, bool recurrent) const {
    const int64_t rows = net.gates() * net.hidden;
    return t.b.get(d * 2 * rows + (recurrent ? rows : 0) + row);
  }
  double input(int64_t time, int64_t row) const {
    double sum = bias(row, false);
    for (int64_t i = 0; i < net.inputs; ++i)
      sum += t.w.get((d * net.gates() * net.hidden + row) * net.inputs + i) *
             t.x.get((time * net.batch + n) * net.inputs + i);
    return sum;
  }
  double recurrence(int64_t row, const std::vector<double>& state) const {
    double sum = bias(row, true);
    for (int64_t i = 0; i < net.hidden; ++i)
      sum += t.r.get((d * net.gates() * net.hidden + row) * net.hidden + i) * state[i];
    return sum;
  }
  double call(size_t which, double x) const {
    if (net.clip > 0) x = std::max(-net.clip, std::min(net.clip, x));
    return function(which)(x);
  }
  const Function& function(size_t which) const {
    return net.functions[d * net.functions.size() / net.directions() + which];
  }
  double peephole(int64_t which, int64_t u) const { return t.p.get((d * 3 + which) * net.hidden + u); }

  void lstm(int64_t time) {
    const int64_t H = net.hidden;
    std::vector<double> next(H);
    for (int64_t u = 0; u < H; ++u) {
      const auto gate = [&](int64_t g) { return input(time, g * H + u) + recurrence(g * H + u, h); };
      const double i = call(0, gate(0) + peephole(0, u) * c[u]);
      const double f = net.couple ? 1 - i : call(0, gate(2) + peephole(2, u) * c[u]);
      c[u] = f * c[u] + i * call(1, gate(3));
      next[u] = call(0, gate(1) + peephole(1, u) * c[u]) * function(2)(c[u]);
    }
    h = next;
  }
  void gru(int64_t time) {
    const int64_t H = net.hidden;
    std::vector<double> z(H), r(H), reset(H), next(H);
    for (int64_t u = 0; u < H; ++u) {
      z[u] = call(0, input(time, u) + recurrence(u, h));
      r[u] = call(0, input(time, H + u) + recurrence(H + u, h));
      reset[u] = r[u] * h[u];
    }
    for (int64_t u = 0; u < H; ++u) {
      const double from = net.linear ? r[u] * recurrence(2 * H + u, h) : recurrence(2 * H + u, reset);
      next[u] = (1 - z[u]) * call(1, input(time, 2 * H + u) + from) + z[u] * h[u];
    }
    h = next;
  }
  void rnn(int64_t time) {
    std::vector<double> next(net.hidden);
    for (int64_t u = 0; u < net.hidden; ++u) next[u] = call(0, input(time, u) + recurrence(u, h));
    h = next;
  }
};

Outputs reference(const Net& net, const Tensors& t) {
  const int64_t D = net.directions(), H = net.hidden;
  Outputs out{Values(net.steps * D * net.batch * H, 0), {}, {}};
  for (int64_t d = 0; d < D; ++d) {
    for (int64_t n = 0; n < net.batch; ++n) {
      Walk walk{net, t, d, n, {}, {}};
      for (int64_t u = 0; u < H; ++u) {
        walk.h.push_back(t.h0.get((d * net.batch + n) * H + u));
        walk.c.push_back(t.c0.get((d * net.batch + n) * H + u));
      }
      const int64_t length = t.lengths[n];
      const bool backward = net.direction == "reverse" || d == 1;
      for (int64_t s = 0; s < length; ++s) {
        const int64_t time = backward ? length - 1 - s : s;
        net.op == BP_OP_LSTM ? walk.lstm(time) : net.op == BP_OP_GRU ? walk.gru(time) : walk.rnn(time);
        for (int64_t u = 0; u < H; ++u) out.y[((time * D + d) * net.batch + n) * H + u] = walk.h[u];
      }
      out.h.insert(out.h.end(), walk.h.begin(), walk.h.end());
      out.c.insert(out.c.end(), walk.c.begin(), walk.c.end());
    }
  }
  return out;
}

TestTensor length_tensor(const Tensors& t) {
  TestTensor lengths(BP_TYPE_I32, {static_cast<int64_t>(t.lengths.size())});
  for (size_t i = 0; i < t.lengths.size(); ++i) lengths.set(static_cast<int64_t>(i), static_cast<double>(t.lengths[i]));
  return lengths;
}

KernelCase net_case(const Net& net, const Tensors& t) {
  KernelCase c(net.op);
  c.input(t.x).input(t.w).input(t.r).input(t.b).input(length_tensor(t)).input(t.h0);
  if (net.op == BP_OP_LSTM) c.input(t.c0).input(t.p).attr(BP_ATTR_INPUT_FORGET, net.couple ? 1 : 0);
  if (net.op == BP_OP_GRU) c.attr(BP_ATTR_LINEAR_BEFORE_RESET, net.linear ? 1 : 0);
  c.attr(BP_ATTR_HIDDEN_SIZE, static_cast<int>(net.hidden)).attr(BP_ATTR_DIRECTION, net.direction.c_str());
  c.attr(BP_ATTR_CELL_CLIP, net.clip);
  return c;
}

Shape y_shape(const Net& net) { return {net.steps, net.directions(), net.batch, net.hidden}; }
Shape state_shape(const Net& net) { return {net.directions(), net.batch, net.hidden}; }

Tolerance tolerance_of(uint32_t dtype) {
  return dtype == BP_TYPE_F64 ? Tolerance{1e-11, 1e-11} : Tolerance{2e-4, 2e-5};
}

std::vector<Function> default_functions(const Net& net) {
  std::vector<Function> functions;
  for (int64_t d = 0; d < net.directions(); ++d) {
    if (net.op != BP_OP_RNN) functions.push_back(sigmoid);
    functions.push_back(tangent);
    if (net.op == BP_OP_LSTM) functions.push_back(tangent);
  }
  return functions;
}

TEST(RecurrentTest, MatchesEquationsForRandomNets) {
  for (uint32_t seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Net net;
    net.op = seed % 3 == 0 ? BP_OP_LSTM : seed % 3 == 1 ? BP_OP_GRU : BP_OP_RNN;
    net.steps = random.integer(0, 6), net.batch = random.integer(1, 4);
    net.inputs = random.integer(1, 20), net.hidden = random.integer(1, 37);
    const char* directions[] = {"forward", "reverse", "bidirectional"};
    net.direction = directions[random.integer(0, 2)];
    net.clip = random.integer(0, 2) == 0 ? 0.4 : 0;
    net.couple = random.integer(0, 2) == 0, net.linear = random.integer(0, 1) == 0;
    net.functions = default_functions(net);
    const uint32_t dtype = seed % 4 == 0 ? BP_TYPE_F64 : BP_TYPE_F32;
    Tensors t = random_tensors(net, dtype, random);
    const Outputs expected = reference(net, t);
    TestTensor y(dtype, y_shape(net)), h(dtype, state_shape(net));
    if (seed % 5 == 1) {
      for (TestTensor* tensor : {&t.x, &t.w, &t.r, &t.b, &t.h0, &t.c0, &t.p, &y, &h})
        *tensor = tensor->scattered(random);
    }
    KernelCase c = net_case(net, t);
    c.output(y).output(h);
    if (net.op != BP_OP_LSTM) {
      c.expect({expected.y, expected.h}, tolerance_of(dtype));
    } else {
      c.output(dtype, state_shape(net)).expect({expected.y, expected.h, expected.c}, tolerance_of(dtype));
    }
  }
}

TEST(RecurrentTest, OptionalInputsAndOutputs) {
  Random random(7);
  for (const uint32_t op : {BP_OP_LSTM, BP_OP_GRU, BP_OP_RNN}) {
    Net net;
    net.op = op;
    net.functions = default_functions(net);
    Tensors t = random_tensors(net, BP_TYPE_F32, random);
    t.b = TestTensor(BP_TYPE_F32, t.b.shape), t.p = TestTensor(BP_TYPE_F32, t.p.shape);
    t.h0 = TestTensor(BP_TYPE_F32, t.h0.shape), t.c0 = TestTensor(BP_TYPE_F32, t.c0.shape);
    t.lengths.assign(net.batch, net.steps);
    const Outputs expected = reference(net, t);
    KernelCase(op)
        .input(t.x)
        .input(t.w)
        .input(t.r)
        .output(BP_TYPE_F32, y_shape(net))
        .expect({expected.y}, {2e-4, 2e-5});
    KernelCase(op)
        .input(t.x)
        .input(t.w)
        .input(t.r)
        .unwanted()
        .output(BP_TYPE_F32, state_shape(net))
        .expect({expected.h}, {2e-4, 2e-5});
    if (op == BP_OP_LSTM)
      KernelCase(op)
          .input(t.x)
          .input(t.w)
          .input(t.r)
          .unwanted()
          .unwanted()
          .output(BP_TYPE_F32, state_shape(net))
          .expect({expected.c}, {2e-4, 2e-5});
  }
}

TEST(RecurrentTest, EveryActivation) {
  struct Named {
    const char* name;
    Function function;
    std::vector<double> alpha, beta;
  };
  const Named cases[] = {{"Relu", [](double x) { return std::max(x, 0.0); }, {}, {}},
                         {"Tanh", tangent, {}, {}},
                         {"Sigmoid", sigmoid, {}, {}},
                         {"Affine", [](double x) { return 0.3 * x + 0.1; }, {0.3}, {0.1}},
                         {"LeakyRelu", [](double x) { return x < 0 ? 0.01 * x : x; }, {}, {}},
                         {"LeakyRelu", [](double x) { return x < 0 ? 0.2 * x : x; }, {0.2}, {}},
                         {"ThresholdedRelu", [](double x) { return x > 0.5 ? x : 0; }, {0.5}, {}},
                         {"ScaledTanh", [](double x) { return 0.7 * std::tanh(1.3 * x); }, {0.7}, {1.3}},
                         {"HardSigmoid", [](double x) { return std::max(0.0, std::min(1.0, 0.2 * x + 0.5)); }, {}, {}},
                         {"Elu", [](double x) { return x < 0 ? 1.0 * std::expm1(x) : x; }, {}, {}},
                         {"Softsign", [](double x) { return x / (1 + std::abs(x)); }, {}, {}},
                         {"softplus", [](double x) { return std::log1p(std::exp(x)); }, {}, {}}};
  for (const Named& named : cases) {
    SCOPED_TRACE(named.name);
    Random random(3);
    Net net;
    net.op = BP_OP_RNN;
    net.hidden = 19;
    net.functions = {named.function};
    const Tensors t = random_tensors(net, BP_TYPE_F32, random);
    KernelCase c = net_case(net, t);
    c.output(BP_TYPE_F32, y_shape(net)).attr(BP_ATTR_ACTIVATIONS, named.name);
    if (!named.alpha.empty()) c.attr(BP_ATTR_ACTIVATION_ALPHA, NodeGraph::Attr(named.alpha));
    if (!named.beta.empty()) c.attr(BP_ATTR_ACTIVATION_BETA, NodeGraph::Attr(named.beta));
    c.expect({reference(net, t).y}, {2e-4, 2e-5});
  }
}

// Alphas go to the functions that take one, in order, across both directions.
TEST(RecurrentTest, ActivationParametersAreConsumedInOrder) {
  Random random(4);
  Net net;
  net.op = BP_OP_GRU;
  net.direction = "bidirectional";
  const auto leaky = [](double a) { return [a](double x) { return x < 0 ? a * x : x; }; };
  net.functions = {sigmoid, leaky(0.1), leaky(0.2), tangent};
  const Tensors t = random_tensors(net, BP_TYPE_F32, random);
  KernelCase c = net_case(net, t);
  c.output(BP_TYPE_F32, y_shape(net)).attr(BP_ATTR_ACTIVATIONS, "Sigmoid,LeakyRelu,LeakyRelu,Tanh");
  c.attr(BP_ATTR_ACTIVATION_ALPHA, NodeGraph::Attr(std::vector<double>{0.1, 0.2}))
      .expect({reference(net, t).y}, {2e-4, 2e-5});
}

TEST(RecurrentTest, SaturatesAndKeepsNaN) {
  const TestTensor x(BP_TYPE_F32, {1, 4, 1}, {1000, -1000, NAN, 0}), w(BP_TYPE_F32, {1, 1, 1}, {1}),
      r(BP_TYPE_F32, {1, 1, 1});
  KernelCase(BP_OP_RNN)
      .input(x)
      .input(w)
      .input(r)
      .output(BP_TYPE_F32, {1, 1, 4, 1})
      .expect({{1, -1, NAN, 0}}, {1e-6, 1e-6});
  KernelCase(BP_OP_RNN)
      .input(x)
      .input(w)
      .input(r)
      .output(BP_TYPE_F32, {1, 1, 4, 1})
      .attr(BP_ATTR_ACTIVATIONS, "Sigmoid")
      .expect({{1, 0, NAN, 0.5}}, {1e-6, 1e-6});
}

TEST(RecurrentTest, LengthsOutsideTheSequenceAreDataErrors) {
  Random random(5);
  Net net;
  Tensors t = random_tensors(net, BP_TYPE_F32, random);
  for (const int64_t bad : {int64_t{-1}, net.steps + 1}) {
    t.lengths[1] = bad;
    KernelCase c = net_case(net, t);
    EXPECT_NE(c.output(BP_TYPE_F32, y_shape(net)).data_error().find("sequence length"), std::string::npos);
  }
}

TEST(RecurrentTest, RefusesPrecisely) {
  Random random(6);
  Net net;
  net.op = BP_OP_GRU;
  const Tensors t = random_tensors(net, BP_TYPE_F32, random);
  const auto refusal = [&](uint32_t key, NodeGraph::Attr value) {
    return KernelCase(BP_OP_GRU)
        .input(t.x)
        .input(t.w)
        .input(t.r)
        .output(BP_TYPE_F32, y_shape(net))
        .attr(key, value)
        .refusal();
  };
  EXPECT_NE(refusal(BP_ATTR_DIRECTION, std::string("up")).find("direction is \"up\""), std::string::npos);
  EXPECT_NE(refusal(BP_ATTR_ACTIVATIONS, std::string("Tanh")).find("names 1 functions, wanted 2"), std::string::npos);
  EXPECT_NE(refusal(BP_ATTR_ACTIVATIONS, std::string("Tanh,Cosh")).find("\"cosh\" is not known"), std::string::npos);
  EXPECT_NE(refusal(BP_ATTR_HIDDEN_SIZE, int64_t{6}).find("hidden_size is 6, wanted 5 to 5"), std::string::npos);
  EXPECT_NE(refusal(BP_ATTR_DIRECTION, std::string("bidirectional")).find("W has shape"), std::string::npos);
}

}  // namespace
}  // namespace backplane_cpu::testing
