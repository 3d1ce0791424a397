// lstm, gru and rnn. States stay in double from step to step; only the outputs are rounded.
#include <algorithm>
#include <functional>
#include <sstream>
#include <string>

#include "backplane/base/text.hpp"
#include "call.hpp"
#include "values.hpp"

namespace backplane::reference {
namespace {

using Vector = std::vector<double>;
using Activation = std::function<double(double)>;

// The activations ONNX names; alpha and beta are consumed in order by those that have them.
struct ActivationReader {
  Vector alphas, betas;
  size_t alpha_at = 0, beta_at = 0;

  double alpha(double fallback) { return alpha_at < alphas.size() ? alphas[alpha_at++] : fallback; }
  double beta(double fallback) { return beta_at < betas.size() ? betas[beta_at++] : fallback; }

  // REQUIRES: one of the names that infer accepts.
  Activation read(const std::string& name) {
    if (name == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
    if (name == "Tanh") return [](double x) { return std::tanh(x); };
    if (name == "Relu") return [](double x) { return maximum(0.0, x); };
    if (name == "Softsign") return [](double x) { return x / (1 + std::fabs(x)); };
    if (name == "Softplus") return [](double x) { return maximum(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
    if (name == "LeakyRelu") return [a = alpha(0.01)](double x) { return x < 0 ? a * x : x; };
    if (name == "ThresholdedRelu") return [a = alpha(1)](double x) { return x > a ? x : 0; };
    if (name == "Elu") return [a = alpha(1)](double x) { return x < 0 ? a * std::expm1(x) : x; };
    if (name == "Affine") return [a = alpha(1), b = beta(0)](double x) { return a * x + b; };
    if (name == "ScaledTanh") return [a = alpha(1), b = beta(1)](double x) { return a * std::tanh(b * x); };
    return [a = alpha(0.2), b = beta(0.5)](double x) { return maximum(0.0, minimum(1.0, a * x + b)); };  // HardSigmoid
  }
};

// All activations of the op, direction by direction; those of the gates, that is all but LSTM's h, behind the clip.
std::vector<Activation> read_activations(const Call& call, size_t directions) {
  const std::string one = call.op == Op::kLSTM ? "Sigmoid,Tanh,Tanh" : call.op == Op::kGRU ? "Sigmoid,Tanh" : "Tanh";
  std::istringstream names(call.attrs.text(BP_ATTR_ACTIVATIONS, directions == 2 ? one + "," + one : one));
  ActivationReader reader{call.attrs.f64s(BP_ATTR_ACTIVATION_ALPHA), call.attrs.f64s(BP_ATTR_ACTIVATION_BETA)};
  const double clip = call.attrs.f64(BP_ATTR_CELL_CLIP, 0);
  std::vector<Activation> activations;
  for (std::string name; std::getline(names, name, ',');) {
    Activation f = reader.read(name);
    const bool of_gate = call.op != Op::kLSTM || activations.size() % 3 != 2;
    if (clip > 0 && of_gate) f = [f, clip](double x) { return f(maximum(-clip, minimum(clip, x))); };
    activations.push_back(std::move(f));
  }
  return activations;
}

// The weights of one direction, and what the steps of the three cells share.
struct Cell {
  Op op;
  size_t hidden, inputs, gates;
  const double *w, *r, *b, *peephole;  // b and peephole may be null
  const Activation* activation;        // f, g, h
  bool input_forget, linear_before_reset;

  // W x + Wb for the row `row` of the stacked gates; R h + Rb.
  double from_input(size_t row, const double* x) const {
    double sum = b == nullptr ? 0 : b[row];
    for (size_t i = 0; i < inputs; ++i) sum += w[row * inputs + i] * x[i];
    return sum;
  }
  double from_state(size_t row, const Vector& h) const {
    double sum = b == nullptr ? 0 : b[gates * hidden + row];
    for (size_t i = 0; i < hidden; ++i) sum += r[row * hidden + i] * h[i];
    return sum;
  }
  double gate(size_t number, size_t j, const double* x, const Vector& h) const {
    return from_input(number * hidden + j, x) + from_state(number * hidden + j, h);
  }

  void step(const double* x, Vector& h, Vector& c) const {
    if (op == Op::kLSTM) return lstm_step(x, h, c);
    if (op == Op::kGRU) return gru_step(x, h);
    Vector next(hidden);
    for (size_t j = 0; j < hidden; ++j) next[j] = activation[0](gate(0, j, x, h));
    h = next;
  }

  // Gates stand in the order i, o, f, c.
  void lstm_step(const double* x, Vector& h, Vector& c) const {
    Vector next(hidden);
    const auto peep = [&](size_t number, size_t j) {
      return peephole == nullptr ? 0 : peephole[number * hidden + j] * c[j];
    };
    for (size_t j = 0; j < hidden; ++j) {
      const double in = activation[0](gate(0, j, x, h) + peep(0, j));
      const double forget = input_forget ? 1 - in : activation[0](gate(2, j, x, h) + peep(2, j));
      c[j] = forget * c[j] + in * activation[1](gate(3, j, x, h));
      next[j] = activation[0](gate(1, j, x, h) + peep(1, j)) * activation[2](c[j]);
    }
    h = next;
  }

  // Gates stand in the order z, r, h.
  void gru_step(const double* x, Vector& h) const {
    Vector update(hidden), reset(hidden), reset_state(hidden);
    for (size_t j = 0; j < hidden; ++j) {
      update[j] = activation[0](gate(0, j, x, h));
      reset[j] = activation[0](gate(1, j, x, h));
      reset_state[j] = reset[j] * h[j];
    }
    Vector next(hidden);
    for (size_t j = 0; j < hidden; ++j) {
      const size_t row = 2 * hidden + j;
      const double state = linear_before_reset ? reset[j] * from_state(row, h) : from_state(row, reset_state);
      next[j] = (1 - update[j]) * activation[1](from_input(row, x) + state) + update[j] * h[j];
    }
    h = next;
  }
};

// One call, loaded. Optional inputs are empty vectors.
struct Sequence {
  size_t steps, batch, inputs, hidden, directions;
  std::vector<int64_t> lengths;
  Vector x, w, r, b, h0, c0, peephole;

  explicit Sequence(const Call& call)
      : steps(static_cast<size_t>(call.input(0).shape()[0])),
        batch(static_cast<size_t>(call.input(0).shape()[1])),
        inputs(static_cast<size_t>(call.input(0).shape()[2])),
        hidden(static_cast<size_t>(call.input(2).shape()[2])),
        directions(static_cast<size_t>(call.input(1).shape()[0])),
        lengths(batch, call.input(0).shape()[0]) {
    const auto optional = [&](size_t index) { return call.has(index) ? load<double>(call.input(index)) : Vector{}; };
    if (call.has(4)) lengths = load<int64_t>(call.input(4));
    x = load<double>(call.input(0));
    w = load<double>(call.input(1));
    r = load<double>(call.input(2));
    b = optional(3);
    h0 = optional(5);
    c0 = optional(6);
    peephole = optional(7);
  }

  Status check_lengths(const Call& call) const {
    for (size_t n = 0; n < batch; ++n)
      if (lengths[n] < 0 || lengths[n] > static_cast<int64_t>(steps))
        return out_of_range(cat(op_name(call.op), ": length ", lengths[n], " of batch item ", n, " is outside [0, ",
                                steps, "], the steps of input 0 ", call.input(0).to_string()));
    return ok_status();
  }

  Cell cell(const Call& call, size_t direction, const std::vector<Activation>& activations) const {
    const size_t gates = call.op == Op::kLSTM ? 4 : call.op == Op::kGRU ? 3 : 1;
    const auto part = [&](const Vector& all) {
      return all.empty() ? nullptr : &all[direction * (all.size() / directions)];
    };
    return {call.op,
            hidden,
            inputs,
            gates,
            part(w),
            part(r),
            part(b),
            part(peephole),
            activations.data() + direction * (activations.size() / directions),
            call.attrs.i64(BP_ATTR_INPUT_FORGET, 0) != 0,
            call.attrs.i64(BP_ATTR_LINEAR_BEFORE_RESET, 0) != 0};
  }

  Vector initial(const Vector& all, size_t state) const {
    if (all.empty()) return Vector(hidden, 0.0);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(state * hidden);
    return Vector(first, first + static_cast<std::ptrdiff_t>(hidden));
  }
};

}  // namespace

Outputs recurrent(const Call& call) {
  const Sequence s(call);
  BP_TRY(s.check_lengths(call));
  const std::vector<Activation> activations = read_activations(call, s.directions);
  Vector y(s.steps * s.directions * s.batch * s.hidden, 0.0);  // stays 0 beyond an item's length
  Vector y_h(s.directions * s.batch * s.hidden), y_c(y_h.size());
  for (size_t direction = 0; direction < s.directions; ++direction) {
    const Cell cell = s.cell(call, direction, activations);
    const bool backwards = direction == 1 || call.attrs.text(BP_ATTR_DIRECTION, "forward") == "reverse";
    for (size_t n = 0; n < s.batch; ++n) {
      const size_t state = direction * s.batch + n;
      Vector h = s.initial(s.h0, state);
      Vector c = s.initial(s.c0, state);
      const auto length = static_cast<size_t>(s.lengths[n]);
      for (size_t step = 0; step < length; ++step) {
        const size_t t = backwards ? length - 1 - step : step;
        cell.step(s.x.data() + (t * s.batch + n) * s.inputs, h, c);
        std::copy(h.begin(), h.end(),
                  y.begin() + static_cast<std::ptrdiff_t>(((t * s.directions + direction) * s.batch + n) * s.hidden));
      }
      std::copy(h.begin(), h.end(), y_h.begin() + static_cast<std::ptrdiff_t>(state * s.hidden));
      std::copy(c.begin(), c.end(), y_c.begin() + static_cast<std::ptrdiff_t>(state * s.hidden));
    }
  }
  std::vector<HostTensor> outputs;
  for (const Vector* values : {&y, &y_h, &y_c}) {
    if (outputs.size() == call.outputs.size()) break;
    BP_TRY_ASSIGN(HostTensor output, store(call.outputs[outputs.size()], *values));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace backplane::reference
