// LSTM, GRU and RNN. layout = 1 (batch first) becomes permuted views.
#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

constexpr size_t kInitialH = 5, kInitialC = 6;

Result<TensorId> permuted(NodeContext& c, TensorId x, std::span<const int64_t> order) {
  if (x == kNone) return x;
  return c.emit.permute(x, order);
}

AttrList recurrent_attrs(NodeContext& c) {
  // R is [directions, gates * hidden, hidden].
  const std::vector<int64_t> r = c.emit.shape(c.in(2));
  AttrList attrs{{BP_ATTR_HIDDEN_SIZE, c.i64("hidden_size", r.empty() ? 0 : r.back())},
                 {BP_ATTR_DIRECTION, c.text("direction", "forward")}};
  if (c.has_attr("activations")) attrs.set(BP_ATTR_ACTIVATIONS, join(c.texts("activations"), ","));
  if (c.has_attr("activation_alpha")) attrs.set(BP_ATTR_ACTIVATION_ALPHA, c.f64s("activation_alpha"));
  if (c.has_attr("activation_beta")) attrs.set(BP_ATTR_ACTIVATION_BETA, c.f64s("activation_beta"));
  if (c.has_attr("clip")) attrs.set(BP_ATTR_CELL_CLIP, c.f64("clip", 0));
  if (c.op() == Op::kLSTM) attrs.set(BP_ATTR_INPUT_FORGET, c.i64("input_forget", 0));
  if (c.op() == Op::kGRU) attrs.set(BP_ATTR_LINEAR_BEFORE_RESET, c.i64("linear_before_reset", 0));
  return attrs;
}

Status recurrent(NodeContext& c) {
  static constexpr int64_t kSwap[] = {1, 0, 2}, kBatchFirst[] = {2, 0, 1, 3};
  const size_t most_inputs = c.op() == Op::kLSTM ? 8 : 6;
  const size_t most_outputs = c.op() == Op::kLSTM ? 3 : 2;
  const bool batch_first = c.i64("layout", 0) != 0;
  std::vector<TensorId> inputs;
  for (size_t at = 0; at < most_inputs; ++at) inputs.push_back(c.in(at));
  if (batch_first) {
    BP_TRY_ASSIGN(inputs[0], permuted(c, inputs[0], kSwap));
    BP_TRY_ASSIGN(inputs[kInitialH], permuted(c, inputs[kInitialH], kSwap));
    if (c.op() == Op::kLSTM) {
      BP_TRY_ASSIGN(inputs[kInitialC], permuted(c, inputs[kInitialC], kSwap));
    }
  }
  bool wanted[3];
  for (size_t at = 0; at < most_outputs; ++at) wanted[at] = c.wants(at);
  BP_TRY_ASSIGN(const std::vector<TensorId> made,
                c.emit.node(c.op(), inputs, recurrent_attrs(c), std::span(wanted).first(most_outputs)));
  for (size_t at = 0; at < most_outputs; ++at) {
    if (!wanted[at]) continue;
    const std::span<const int64_t> order = at == 0 ? std::span<const int64_t>(kBatchFirst) : kSwap;
    BP_TRY(c.set(at, batch_first ? permuted(c, made[at], order) : made[at]));
  }
  return ok_status();
}

}  // namespace

std::span<const Lowering> recurrent_lowerings() {
  static constexpr Lowering kRows[] = {
      {"LSTM", 1, 3, recurrent, Op::kLSTM},
      {"GRU", 1, 3, recurrent, Op::kGRU},
      {"RNN", 1, 3, recurrent, Op::kRNN},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
