// lstm, gru, rnn in f32 and f64. Phase 0 copies weights that are not dense and sets the states; phase 1 multiplies all
// inputs with W at once; then every step is one phase (two for a gru that resets before its product), in which each
// worker owns some hidden units of all sequences; the last phase writes the final states.
#include <cmath>

#include "kernels/families.hpp"
#include "kernels/recurrent_activation.hpp"
#include "kernels/recurrent_product.hpp"

namespace backplane_cpu {
namespace {

enum class Cell { kLstm, kGru, kRnn };

struct RecurrentPlan {
  Cell cell = Cell::kRnn;
  int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1, gates = 1;
  bool backward[2] = {false, false};  // per direction
  std::vector<Activation> activations;
  size_t functions = 1;  // per direction
  double clip = 0;       // 0 = none
  bool couple_gates = false, linear_before_reset = false;
  Operand x, w, r, b, lengths, h0, c0, p, y, y_h, y_c;

  int64_t gate_rows() const { return gates * hidden; }
  bool two_phase_step() const { return cell == Cell::kGru && !linear_before_reset; }
  int64_t operations() const { return directions * steps * batch * gate_rows() * (inputs + hidden); }
};

bool rows_are_dense(const Operand& operand) {  // [D, rows, k] with unit stride along k
  return operand.strides[2] == 1 || operand.shape[2] <= 1;
}

// Where the parts of scratch start, in elements.
struct Layout {
  int64_t gates = 0, hidden[2] = {0, 0}, cell = 0, reset = 0, bias = 0, w = 0, r = 0, x = 0, total = 0;

  explicit Layout(const RecurrentPlan& plan) {
    const int64_t state = plan.directions * plan.batch * plan.hidden;
    take(gates, plan.directions * plan.steps * plan.batch * plan.gate_rows());
    take(hidden[0], state);
    take(hidden[1], state);
    take(cell, state);
    take(reset, state);
    take(bias, plan.directions * (plan.gate_rows() + plan.hidden));
    take(w, rows_are_dense(plan.w) ? 0 : plan.w.elements());
    take(r, rows_are_dense(plan.r) ? 0 : plan.r.elements());
    take(x, rows_are_dense(plan.x) ? 0 : plan.x.elements());
  }

 private:
  void take(int64_t& at, int64_t count) {
    at = total;
    total += (count + 15) / 16 * 16;
  }
};

template <class T>
class RecurrentKernel final : public Kernel {
 public:
  explicit RecurrentKernel(RecurrentPlan plan) : p_(std::move(plan)), layout_(p_) {}
  uint32_t phases() const override { return static_cast<uint32_t>(3 + p_.steps * (p_.two_phase_step() ? 2 : 1)); }
  size_t scratch_bytes(uint32_t) const override { return static_cast<size_t>(layout_.total) * sizeof(T); }
  uint32_t max_workers() const override {
    return p_.steps == 0 ? 1 : worth_workers(p_.operations() / p_.steps);  // every step ends at a barrier
  }
  void run(const RunArgs& args) const noexcept override {
    const uint32_t step_phases = phases() - 3;
    if (args.phase == 0) return prepare(args);
    if (args.phase == 1) return multiply_inputs(args);
    if (args.phase == step_phases + 2) return write_states(args);
    const uint32_t at = args.phase - 2;
    if (p_.two_phase_step()) {
      run_step(args, at / 2, at % 2 == 1);
    } else {
      run_step(args, at, false);
    }
  }

 private:
  // Hidden units [begin, end) of one sequence at one step.
  struct Span {
    int64_t direction, sequence, begin, end;
    T* gate;  // this step's gates of the sequence: gate g of unit u at g·hidden + u
    const T* old_hidden;
    T* new_hidden;
    T* cell;
    T* reset;
    int64_t size() const { return end - begin; }
  };

  T* scratch(const RunArgs& args, int64_t at) const { return reinterpret_cast<T*>(args.scratch) + at; }
  int64_t state_at(int64_t direction, int64_t sequence) const { return (direction * p_.batch + sequence) * p_.hidden; }
  const Activation& function(int64_t direction, size_t index) const {
    return p_.activations[static_cast<size_t>(direction) * p_.functions + index];
  }
  Rows<T> rows_of(const RunArgs& args, const Operand& operand, uint32_t input, int64_t copy, int64_t first) const {
    const int64_t depth = operand.shape[2];
    if (!rows_are_dense(operand)) return {scratch(args, copy) + first * depth, depth, 0};
    const int64_t outer = first / operand.shape[1], row = first % operand.shape[1];
    return {input_data<T>(args, input) + outer * operand.strides[0] + row * operand.strides[1], operand.strides[1], 0};
  }
  int64_t length(const RunArgs& args, int64_t sequence) const {
    if (!p_.lengths.present()) return p_.steps;
    const int64_t found = input_data<int32_t>(args, 4)[sequence * p_.lengths.stride(0)];
    return std::clamp<int64_t>(found, 0, p_.steps);
  }

  // ---- phase 0

  void copy_dense(const RunArgs& args, const Operand& from, uint32_t input, int64_t to) const {
    const Range range = share(from.elements(), 64, args.worker, args.workers);
    const T* source = input_data<T>(args, input);
    T* target = scratch(args, to);
    for (int64_t i = range.begin; i < range.end; ++i) target[i] = source[offset_of(from, 0, from.rank(), i)];
  }
  void copy_state(const RunArgs& args, const Operand& from, uint32_t input, int64_t to) const {
    if (from.present()) return copy_dense(args, from, input, to);
    const Range range = share(p_.directions * p_.batch * p_.hidden, 64, args.worker, args.workers);
    std::fill(scratch(args, to) + range.begin, scratch(args, to) + range.end, T{0});
  }
  // Wb + Rb per gate row; then Rb of the gru's hidden gate, which a reset after the product needs apart.
  void sum_bias(const RunArgs& args) const {
    const int64_t rows = p_.gate_rows();
    const T* b = p_.b.present() ? input_data<T>(args, 3) : nullptr;
    T* bias = scratch(args, layout_.bias);
    for (int64_t d = 0; d < p_.directions; ++d) {
      T* out = bias + d * (rows + p_.hidden);
      const auto at = [&](int64_t i) { return b == nullptr ? T{0} : b[d * p_.b.stride(0) + i * p_.b.strides[1]]; };
      for (int64_t i = 0; i < rows; ++i) {
        const bool apart = p_.cell == Cell::kGru && p_.linear_before_reset && i >= 2 * p_.hidden;
        out[i] = at(i) + (apart ? T{0} : at(rows + i));
      }
      for (int64_t i = 0; i < p_.hidden; ++i) out[rows + i] = at(2 * rows - p_.hidden + i);
    }
  }
  void check_lengths(const RunArgs& args) const {
    for (int64_t n = 0; p_.lengths.present() && n < p_.batch; ++n) {
      const int64_t found = input_data<int32_t>(args, 4)[n * p_.lengths.stride(0)];
      if (found < 0 || found > p_.steps)
        args.error->store("a sequence length is below 0 or above the number of time steps");
    }
  }
  void prepare(const RunArgs& args) const {
    if (!rows_are_dense(p_.x)) copy_dense(args, p_.x, 0, layout_.x);
    if (!rows_are_dense(p_.w)) copy_dense(args, p_.w, 1, layout_.w);
    if (!rows_are_dense(p_.r)) copy_dense(args, p_.r, 2, layout_.r);
    copy_state(args, p_.h0, 5, layout_.hidden[0]);
    if (p_.cell == Cell::kLstm) copy_state(args, p_.c0, 6, layout_.cell);
    if (args.worker != 0) return;
    sum_bias(args);
    check_lengths(args);
  }

  // ---- phase 1: gates[d, t, n, :] = bias + W·x[t, n]

  void multiply_inputs(const RunArgs& args) const {
    const int64_t rows = p_.gate_rows();
    const Range range = share(p_.directions * rows, 4, args.worker, args.workers);
    for (int64_t at = range.begin; at < range.end;) {
      const int64_t d = at / rows, row = at % rows;
      const int64_t count = std::min<int64_t>({range.end - at, rows - row, 32});  // 32 rows of W stay in cache
      const T* bias = scratch(args, layout_.bias) + d * (rows + p_.hidden) + row;
      T* gates = scratch(args, layout_.gates) + d * p_.steps * p_.batch * rows + row;
      for (int64_t i = 0; i < p_.steps * p_.batch; ++i) std::copy(bias, bias + count, gates + i * rows);
      Rows<T> w = rows_of(args, p_.w, 1, layout_.w, at);
      w.count = count;
      for (int64_t t = 0; t < p_.steps && p_.batch > 0; ++t) {
        // Steps that lie one after another are one tall product.
        const bool tall = !rows_are_dense(p_.x) || p_.x.strides[0] == p_.batch * p_.x.strides[1];
        Rows<T> x = rows_of(args, p_.x, 0, layout_.x, t * p_.batch);
        x.count = tall ? p_.steps * p_.batch : p_.batch;
        add_products(w, x, p_.inputs, gates + t * p_.batch * rows, rows);
        if (tall) break;
      }
      at += count;
    }
  }

  // ---- steps

  void run_step(const RunArgs& args, int64_t step, bool second) const {
    const Range range = share(p_.directions * p_.hidden, 8, args.worker, args.workers);
    for (int64_t at = range.begin; at < range.end;) {
      const int64_t d = at / p_.hidden, begin = at % p_.hidden;
      const int64_t end = std::min(p_.hidden, begin + range.end - at);
      for (int64_t n = 0; n < p_.batch; ++n) run_span(args, step, second, d, n, begin, end);
      at += end - begin;
    }
  }
  void run_span(const RunArgs& args, int64_t step, bool second, int64_t d, int64_t n, int64_t begin,
                int64_t end) const {
    const int64_t valid = length(args, n), state = state_at(d, n);
    const int64_t t = p_.backward[d] && step < valid ? valid - 1 - step : step;
    Span span{d, n, begin, end, nullptr, nullptr, nullptr, nullptr, nullptr};
    span.gate = scratch(args, layout_.gates) + ((d * p_.steps + t) * p_.batch + n) * p_.gate_rows();
    span.old_hidden = scratch(args, layout_.hidden[step % 2]) + state;
    span.new_hidden = scratch(args, layout_.hidden[(step + 1) % 2]) + state;
    span.cell = scratch(args, layout_.cell) + state;
    span.reset = scratch(args, layout_.reset) + state;
    if (step >= valid) {  // past the end: the state stays, the output is zero
      std::copy(span.old_hidden + begin, span.old_hidden + end, span.new_hidden + begin);
      write_output(args, span, t, nullptr);
      return;
    }
    switch (p_.cell) {
      case Cell::kLstm:
        lstm_span(args, span);
        break;
      case Cell::kGru:
        if (!gru_span(args, span, second)) return;
        break;
      case Cell::kRnn:
        rnn_span(args, span);
        break;
    }
    write_output(args, span, t, span.new_hidden);
  }
  void write_output(const RunArgs& args, const Span& span, int64_t t, const T* hidden) const {
    if (!p_.y.present() || args.outputs[0] == nullptr) return;
    const Operand& y = p_.y;
    T* out = output_data<T>(args, 0) + t * y.strides[0] + span.direction * y.strides[1] + span.sequence * y.strides[2];
    for (int64_t u = span.begin; u < span.end; ++u) out[u * y.strides[3]] = hidden == nullptr ? T{0} : hidden[u];
  }
  // out[u] += Σ R[gate, u, :]·hidden for the span's units.
  void add_recurrence(const RunArgs& args, const Span& span, int64_t gate, const T* hidden, T* out) const {
    Rows<T> r = rows_of(args, p_.r, 2, layout_.r, span.direction * p_.gate_rows() + gate * p_.hidden + span.begin);
    r.count = span.size();
    add_products(r, {hidden, 0, 1}, p_.hidden, out + span.begin, 0);
  }
  void activate(const Span& span, T* values, size_t index) const {
    T* from = values + span.begin;
    if (p_.clip > 0) {
      const T limit = static_cast<T>(p_.clip);
      for (int64_t i = 0; i < span.size(); ++i) from[i] = from[i] > limit ? limit : from[i] < -limit ? -limit : from[i];
    }
    function(span.direction, index).apply(from, span.size());
  }
  void add_peephole(const RunArgs& args, const Span& span, int64_t which, T* gate) const {
    if (!p_.p.present()) return;
    const T* p = input_data<T>(args, 7) + span.direction * p_.p.stride(0) + which * p_.hidden * p_.p.strides[1];
    for (int64_t u = span.begin; u < span.end; ++u) gate[u] += p[u * p_.p.strides[1]] * span.cell[u];
  }
  void lstm_span(const RunArgs& args, const Span& span) const {
    T* i = span.gate;
    T* o = i + p_.hidden;
    T* f = o + p_.hidden;
    T* c = f + p_.hidden;
    for (int64_t gate = 0; gate < 4; ++gate) add_recurrence(args, span, gate, span.old_hidden, i + gate * p_.hidden);
    add_peephole(args, span, 0, i);
    activate(span, i, 0);
    if (p_.couple_gates) {
      for (int64_t u = span.begin; u < span.end; ++u) f[u] = 1 - i[u];
    } else {
      add_peephole(args, span, 2, f);
      activate(span, f, 0);
    }
    activate(span, c, 1);
    for (int64_t u = span.begin; u < span.end; ++u) c[u] = span.cell[u] = f[u] * span.cell[u] + i[u] * c[u];
    add_peephole(args, span, 1, o);
    activate(span, o, 0);
    function(span.direction, 2).apply(c + span.begin, span.size());  // the clip bounds gates, not the cell
    for (int64_t u = span.begin; u < span.end; ++u) span.new_hidden[u] = o[u] * c[u];
  }
  // Returns whether the new hidden state is complete.
  bool gru_span(const RunArgs& args, const Span& span, bool second) const {
    T* z = span.gate;
    T* r = z + p_.hidden;
    T* h = r + p_.hidden;
    if (!second) {
      add_recurrence(args, span, 0, span.old_hidden, z);
      add_recurrence(args, span, 1, span.old_hidden, r);
      activate(span, z, 0);
      activate(span, r, 0);
      if (p_.linear_before_reset) {
        const T* bias = scratch(args, layout_.bias) + span.direction * (p_.gate_rows() + p_.hidden) + p_.gate_rows();
        std::copy(bias + span.begin, bias + span.end, span.reset + span.begin);
        add_recurrence(args, span, 2, span.old_hidden, span.reset);
        for (int64_t u = span.begin; u < span.end; ++u) h[u] += r[u] * span.reset[u];
      } else {
        for (int64_t u = span.begin; u < span.end; ++u) span.reset[u] = r[u] * span.old_hidden[u];
        return false;  // the product needs the reset state of all units
      }
    } else {
      add_recurrence(args, span, 2, span.reset, h);
    }
    activate(span, h, 1);
    for (int64_t u = span.begin; u < span.end; ++u) span.new_hidden[u] = (1 - z[u]) * h[u] + z[u] * span.old_hidden[u];
    return true;
  }
  void rnn_span(const RunArgs& args, const Span& span) const {
    add_recurrence(args, span, 0, span.old_hidden, span.gate);
    activate(span, span.gate, 0);
    std::copy(span.gate + span.begin, span.gate + span.end, span.new_hidden + span.begin);
  }

  // ---- last phase

  void write_state(const RunArgs& args, const Operand& to, uint32_t output, const T* state) const {
    if (!to.present() || args.outputs[output] == nullptr) return;
    const Range range = share(to.elements(), 64, args.worker, args.workers);
    T* out = output_data<T>(args, output);
    for (int64_t i = range.begin; i < range.end; ++i) out[offset_of(to, 0, to.rank(), i)] = state[i];
  }
  void write_states(const RunArgs& args) const {
    write_state(args, p_.y_h, 1, scratch(args, layout_.hidden[p_.steps % 2]));
    write_state(args, p_.y_c, 2, scratch(args, layout_.cell));
  }

  RecurrentPlan p_;
  Layout layout_;
};

void read_direction(const NodeView& node, RecurrentPlan& plan) {
  const std::string direction(node.text(BP_ATTR_DIRECTION, "forward"));
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    refuse_node(node, "direction is \"" + direction + "\", wanted forward, reverse or bidirectional");
  plan.directions = direction == "bidirectional" ? 2 : 1;
  plan.backward[0] = direction == "reverse";
  plan.backward[1] = true;
}

void read_attributes(const NodeView& node, RecurrentPlan& plan) {
  const bool lstm = plan.cell == Cell::kLstm, gru = plan.cell == Cell::kGru;
  want_attrs(node, {BP_ATTR_HIDDEN_SIZE, BP_ATTR_DIRECTION, BP_ATTR_ACTIVATIONS, BP_ATTR_ACTIVATION_ALPHA,
                    BP_ATTR_ACTIVATION_BETA, BP_ATTR_CELL_CLIP,
                    lstm  ? BP_ATTR_INPUT_FORGET
                    : gru ? BP_ATTR_LINEAR_BEFORE_RESET
                          : BP_ATTR_CELL_CLIP});
  read_direction(node, plan);
  plan.functions = lstm ? 3 : gru ? 2 : 1;
  plan.activations = read_activations(node,
                                      lstm  ? "Sigmoid,Tanh,Tanh"
                                      : gru ? "Sigmoid,Tanh"
                                            : "Tanh",
                                      plan.functions * static_cast<size_t>(plan.directions));
  plan.clip = node.f64(BP_ATTR_CELL_CLIP, 0);
  if (!(plan.clip >= 0)) refuse_node(node, "cell_clip is " + std::to_string(plan.clip) + ", wanted 0 or more");
  plan.couple_gates = want_i64(node, BP_ATTR_INPUT_FORGET, "input_forget", 0, 0, 1) != 0;
  plan.linear_before_reset = want_i64(node, BP_ATTR_LINEAR_BEFORE_RESET, "linear_before_reset", 0, 0, 1) != 0;
}

void check_shapes(const NodeView& node, RecurrentPlan& plan) {
  want_rank(node, plan.x, "X", 3, 3);
  want_rank(node, plan.r, "R", 3, 3);
  plan.steps = plan.x.shape[0], plan.batch = plan.x.shape[1], plan.inputs = plan.x.shape[2];
  plan.hidden = plan.r.shape[2];
  if (plan.steps > int64_t{1} << 30) refuse_node(node, "X has too many time steps");
  if (node.find(BP_ATTR_HIDDEN_SIZE) != nullptr)
    want_i64(node, BP_ATTR_HIDDEN_SIZE, "hidden_size", plan.hidden, plan.hidden, plan.hidden);
  const int64_t d = plan.directions, h = plan.hidden, rows = plan.gate_rows();
  const std::vector<int64_t> state{d, plan.batch, h};
  want_shape(node, plan.w, "W", {d, rows, plan.inputs});
  want_shape(node, plan.r, "R", {d, rows, h});
  want_shape(node, plan.b, "B", {d, 2 * rows});
  want_shape(node, plan.lengths, "lengths", {plan.batch});
  want_shape(node, plan.h0, "h0", state);
  want_shape(node, plan.c0, "c0", state);
  want_shape(node, plan.p, "P", {d, 3 * h});
  want_shape(node, plan.y, "Y", {plan.steps, d, plan.batch, h});
  want_shape(node, plan.y_h, "Y_h", state);
  want_shape(node, plan.y_c, "Y_c", state);
}

}  // namespace

Prepared prepare_recurrent(const NodeView& node) {
  return refuse_on_error([&]() -> Prepared {
    RecurrentPlan plan;
    plan.cell = node.op() == BP_OP_LSTM ? Cell::kLstm : node.op() == BP_OP_GRU ? Cell::kGru : Cell::kRnn;
    const bool lstm = plan.cell == Cell::kLstm;
    plan.gates = lstm ? 4 : plan.cell == Cell::kGru ? 3 : 1;
    want_counts(node, lstm ? 8 : 6, lstm ? 3 : 2);
    plan.x = input_operand(node, 0, "X");
    plan.w = input_operand(node, 1, "W");
    plan.r = input_operand(node, 2, "R");
    plan.b = input_operand(node, 3, "B", true);
    plan.lengths = input_operand(node, 4, "lengths", true);
    plan.h0 = input_operand(node, 5, "h0", true);
    plan.c0 = input_operand(node, 6, "c0", true);
    plan.p = input_operand(node, 7, "P", true);
    plan.y = output_operand(node, 0, "Y", true);
    plan.y_h = output_operand(node, 1, "Y_h", true);
    plan.y_c = output_operand(node, 2, "Y_c", true);
    want_float(node, plan.x, "X");
    want_type(node, plan.lengths, "lengths", BP_TYPE_I32);
    const std::pair<const Operand*, const char*> same[] = {{&plan.w, "W"},   {&plan.r, "R"},     {&plan.b, "B"},
                                                           {&plan.h0, "h0"}, {&plan.c0, "c0"},   {&plan.p, "P"},
                                                           {&plan.y, "Y"},   {&plan.y_h, "Y_h"}, {&plan.y_c, "Y_c"}};
    for (const auto& [operand, name] : same) want_type(node, *operand, name, plan.x.dtype);
    read_attributes(node, plan);
    check_shapes(node, plan);
    if (plan.x.dtype == BP_TYPE_F64) return {std::make_unique<RecurrentKernel<double>>(std::move(plan)), {}, 0};
    return {std::make_unique<RecurrentKernel<float>>(std::move(plan)), {}, 0};
  });
}

}  // namespace backplane_cpu
