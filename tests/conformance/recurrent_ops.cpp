// Random nodes of LSTM, GRU and RNN.
#include "families.hpp"

namespace backplane::testing {
namespace {

constexpr std::string_view kActivations[] = {
    "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
    "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};

struct Cell {
  int64_t gates, activations;
};

Cell cell_of(Op op) {
  if (op == Op::kLSTM) return {4, 3};
  return op == Op::kGRU ? Cell{3, 2} : Cell{1, 1};
}

void add_activations(NodeCase& node, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) text += ',';
    text += node.random.pick(std::span<const std::string_view>(kActivations));
  }
  node.attrs.set(BP_ATTR_ACTIVATIONS, text);
  for (const uint32_t key : {BP_ATTR_ACTIVATION_ALPHA, BP_ATTR_ACTIVATION_BETA}) {
    if (!node.random.chance(50)) continue;
    std::vector<double> values(static_cast<size_t>(node.random.between(1, count)));
    for (double& value : values) value = node.random.pick({0.25, 0.5, 1.0});
    node.attrs.set(key, values);
  }
}

void add_attributes(NodeCase& node, int64_t directions, int64_t hidden, bool has_activations) {
  Random& random = node.random;
  node.attrs.set(BP_ATTR_HIDDEN_SIZE, hidden);
  if (directions == 2)
    node.attrs.set(BP_ATTR_DIRECTION, std::string("bidirectional"));
  else if (random.chance(60))
    node.attrs.set(BP_ATTR_DIRECTION, random.pick<std::string>({"forward", "reverse"}));
  if (has_activations) add_activations(node, cell_of(node.op()).activations * directions);
  if (random.chance(25)) node.attrs.set(BP_ATTR_CELL_CLIP, 0.75);
  if (node.op() == Op::kLSTM && random.chance(30)) node.attrs.set(BP_ATTR_INPUT_FORGET, random.between(0, 1));
  if (node.op() == Op::kGRU && random.chance(60)) node.attrs.set(BP_ATTR_LINEAR_BEFORE_RESET, random.between(0, 1));
}

void make_recurrent(NodeCase& node) {
  Random& random = node.random;
  const DType dtype = node.type(kFloats);
  const Cell cell = cell_of(node.op());
  const bool has_activations = random.chance(40);  // unbounded ones let states grow from step to step
  const int64_t steps = random.between(random.chance(5) ? 0 : 1, has_activations ? 2 : 5),
                batch = random.between(random.chance(3) ? 0 : 1, 4);
  const int64_t inputs = random.between(1, 9), directions = random.between(1, 2);
  const int64_t hidden = has_activations     ? random.between(1, 4)
                         : random.chance(15) ? random.between(10, 40)
                                             : random.between(1, 9);
  const auto optional = [&](const Shape& shape) {
    random.chance(50) ? node.operand(dtype, shape, Values::unit) : node.absent();
  };
  node.operand(dtype, {steps, batch, inputs}, Values::unit);
  node.operand(dtype, {directions, cell.gates * hidden, inputs}, Values::unit);
  node.operand(dtype, {directions, cell.gates * hidden, hidden}, Values::unit);
  optional({directions, 2 * cell.gates * hidden});
  if (random.chance(40)) {
    std::vector<int32_t> lengths(static_cast<size_t>(batch));
    for (int32_t& length : lengths) length = static_cast<int32_t>(random.between(0, steps));
    node.operand(HostTensor::of<int32_t>(DType::kI32, {batch}, lengths));
  } else {
    node.absent();
  }
  optional({directions, batch, hidden});
  if (node.op() == Op::kLSTM) {
    optional({directions, batch, hidden});
    optional({directions, 3 * hidden});
  }
  add_attributes(node, directions, hidden, has_activations);
  node.wanted.assign(node.op() == Op::kLSTM ? 3 : 2, 1);
  for (uint8_t& wanted : node.wanted) wanted = random.chance(70);
  node.wanted[static_cast<size_t>(random.between(0, std::ssize(node.wanted) - 1))] = 1;
  const double growth = node.attrs.has(BP_ATTR_ACTIVATIONS) ? 1 << 13 : 64;
  node.tolerance = {.ulps = 8, .absolute = 4 * growth * epsilon_of(dtype), .relative = growth * epsilon_of(dtype)};
}

}  // namespace

std::span<const OpUnderTest> recurrent_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kLSTM, DType::kF32, make_recurrent},
      {Op::kGRU, DType::kF32, make_recurrent},
      {Op::kRNN, DType::kF32, make_recurrent},
  };
  return kOps;
}

}  // namespace backplane::testing
