// LSTM, GRU and RNN.
#include <algorithm>

#include "backplane/base/text.hpp"
#include "inference_call.hpp"

namespace backplane {
namespace {

struct Cell {
  int64_t gates;        // blocks of hidden_size rows in W and R
  int64_t activations;  // per direction
  bool has_cell_state;
};

Cell cell_of(Op op) {
  if (op == Op::kLSTM) return {4, 3, true};
  if (op == Op::kGRU) return {3, 2, false};
  return {1, 1, false};
}

Status check_activations(const InferenceCall& call, int64_t wanted) {
  static constexpr std::string_view kKnown[] = {
      "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
      "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
  for (uint32_t key : {BP_ATTR_ACTIVATION_ALPHA, BP_ATTR_ACTIVATION_BETA})
    if (static_cast<int64_t>(call.attrs.f64s(key).size()) > wanted)
      return call.fail(cat(attr_name(key), " has more entries than there are activations, ", wanted));
  if (!call.attrs.has(BP_ATTR_ACTIVATIONS)) return ok_status();
  const std::string text = call.attrs.text(BP_ATTR_ACTIVATIONS, "");
  int64_t count = 0;
  for (size_t at = 0; at <= text.size(); ++count) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view name = std::string_view(text).substr(at, comma - at);
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      return call.fail(cat("'", name, "' in activations is no known activation"));
    at = comma + 1;
  }
  if (count == wanted) return ok_status();
  return call.fail(cat("activations are '", text, "', but there must be ", wanted));
}

Status check_weights(const InferenceCall& call, const Cell& cell, int64_t directions, int64_t hidden) {
  const Shape& x = call.shape(0);
  BP_TRY_ASSIGN(const int64_t rows, call.extent(Wide(cell.gates) * hidden, "gates * hidden_size"));
  BP_TRY_ASSIGN(const int64_t biases, call.extent(Wide(2) * rows, "the bias' extent"));
  BP_TRY(call.want_shape(1, {directions, rows, x[2]}, "[D, gates*H, I]"));
  BP_TRY(call.want_shape(2, {directions, rows, hidden}, "[D, gates*H, H]"));
  BP_TRY(call.want_shape(3, {directions, biases}, "[D, 2*gates*H]"));
  BP_TRY(call.want_shape(4, {x[1]}, "[N]"));
  BP_TRY(call.want_shape(5, {directions, x[1], hidden}, "[D, N, H]"));
  BP_TRY(call.want_shape(6, {directions, x[1], hidden}, "[D, N, H]"));
  return call.want_shape(7, {directions, 3 * hidden}, "[D, 3*H]");  // 4*H fits, so 3*H does
}

Status check_types(const InferenceCall& call) {
  for (size_t i : {1, 2, 3, 5, 6, 7}) BP_TRY(call.want_same_type(i, 0));
  if (call.has(4) && call.dtype(4) != DType::kI32)
    return call.fail(cat("input 4, the lengths, must be i32, but is ", type_name(call.dtype(4))));
  return ok_status();
}

Result<Specs> infer_recurrent(const InferenceCall& call) {
  const Cell cell = cell_of(call.op);
  for (size_t i : {0, 1, 2}) BP_TRY(call.want_rank(i, 3, 3));
  BP_TRY(check_types(call));
  BP_TRY_ASSIGN(const std::string direction, call.word(BP_ATTR_DIRECTION, {"forward", "reverse", "bidirectional"}));
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  BP_TRY_ASSIGN(const int64_t hidden, call.integer(BP_ATTR_HIDDEN_SIZE, call.shape(2)[2], 1));
  BP_TRY(check_weights(call, cell, directions, hidden));
  BP_TRY(check_activations(call, cell.activations * directions));
  BP_TRY(call.want_nonnegative(BP_ATTR_CELL_CLIP));
  BP_TRY(call.flag(BP_ATTR_INPUT_FORGET, false).status());
  BP_TRY(call.flag(BP_ATTR_LINEAR_BEFORE_RESET, false).status());
  const int64_t steps = call.shape(0)[0], batch = call.shape(0)[1];
  const TensorSpec last{call.dtype(0), {directions, batch, hidden}};
  Specs specs{{call.dtype(0), {steps, directions, batch, hidden}}, last};
  if (cell.has_cell_state) specs.push_back(last);
  return specs;
}

std::vector<uint32_t> attrs_with(std::initializer_list<uint32_t> more) {
  std::vector<uint32_t> attrs = {BP_ATTR_HIDDEN_SIZE,      BP_ATTR_DIRECTION,       BP_ATTR_ACTIVATIONS,
                                 BP_ATTR_ACTIVATION_ALPHA, BP_ATTR_ACTIVATION_BETA, BP_ATTR_CELL_CLIP};
  attrs.insert(attrs.end(), more);
  return attrs;
}

}  // namespace

std::span<const OpRule> recurrent_rules() {
  static const std::vector<OpRule> rules = {
      {Op::kLSTM, 3, 8, TypeSet::kFloat, infer_recurrent, attrs_with({BP_ATTR_INPUT_FORGET})},
      {Op::kGRU, 3, 6, TypeSet::kFloat, infer_recurrent, attrs_with({BP_ATTR_LINEAR_BEFORE_RESET})},
      {Op::kRNN, 3, 6, TypeSet::kFloat, infer_recurrent, attrs_with({})},
  };
  return rules;
}

}  // namespace backplane
