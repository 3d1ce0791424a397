// Element-wise arithmetic.
#include <cfloat>

#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

Status same_op(NodeContext& c) { return c.set(0, c.emit.op(c.op(), c.inputs())); }

// One alpha, with the row's op.
Status leaky_relu(NodeContext& c) {
  return c.set(0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_ALPHA, c.f64("alpha", 0.01)}}));
}

Status alpha_of_one(NodeContext& c) {
  return c.set(0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_ALPHA, c.f64("alpha", 1)}}));
}

Status hard_sigmoid(NodeContext& c) {
  return c.set(
      0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_ALPHA, c.f64("alpha", 0.2f)}, {BP_ATTR_BETA, c.f64("beta", 0.5)}}));
}

Status selu(NodeContext& c) {
  return c.set(0, c.emit.op(c.op(), {c.in(0)},
                            {{BP_ATTR_ALPHA, c.f64("alpha", 1.67326319217681884765625)},
                             {BP_ATTR_GAMMA, c.f64("gamma", 1.05070102214813232421875)}}));
}

Status shrink(NodeContext& c) {
  return c.set(0,
               c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_LAMBD, c.f64("lambd", 0.5)}, {BP_ATTR_BIAS, c.f64("bias", 0)}}));
}

Status gelu(NodeContext& c) {
  return c.set(0, c.emit.op(c.op(), {c.in(0)}, {{BP_ATTR_APPROXIMATE, c.text("approximate", "none")}}));
}

// Before opset 11 the limits are attributes with finite defaults.
Status clip_by_attributes(NodeContext& c) {
  const DType dtype = c.emit.dtype(c.in(0));
  BP_TRY_ASSIGN(const TensorId lo, c.emit.scalar(dtype, c.f64("min", -FLT_MAX)));
  BP_TRY_ASSIGN(const TensorId hi, c.emit.scalar(dtype, c.f64("max", FLT_MAX)));
  return c.set(0, c.emit.op(Op::kCLIP, {c.in(0), lo, hi}));
}

Status clip(NodeContext& c) { return c.set(0, c.emit.op(Op::kCLIP, {c.in(0), c.in(1), c.in(2)})); }

Status mod(NodeContext& c) { return c.set(0, c.emit.op(c.op(), c.inputs(), {{BP_ATTR_FMOD, c.i64("fmod", 0)}})); }

Status bit_shift(NodeContext& c) {
  const std::string direction = c.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return invalid_argument(cat("direction must be LEFT or RIGHT, found '", direction, "'"));
  }
  return c.set(0, c.emit.op(direction == "LEFT" ? Op::kSHIFT_LEFT : Op::kSHIFT_RIGHT, c.inputs()));
}

// Left to right over any number of inputs.
Result<TensorId> chain(NodeContext& c, Op op) {
  TensorId united = c.in(0);
  for (size_t at = 1; at < c.inputs().size(); ++at) {
    if (!c.has(at)) return invalid_argument(cat("input ", at, " is absent"));
    BP_TRY_ASSIGN(united, c.emit.op(op, {united, c.in(at)}));
  }
  return united;
}

Status variadic(NodeContext& c) { return c.set(0, chain(c, c.op())); }

Status mean(NodeContext& c) {
  BP_TRY_ASSIGN(const TensorId sum, chain(c, Op::kADD));
  BP_TRY_ASSIGN(const TensorId count, c.emit.scalar(c.emit.dtype(sum), static_cast<double>(c.inputs().size())));
  return c.set(0, c.emit.op(Op::kDIV, {sum, count}));
}

}  // namespace

std::span<const Lowering> math_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Abs", 1, 1, same_op, Op::kABS},
      {"Neg", 1, 1, same_op, Op::kNEG},
      {"Sign", 9, 1, same_op, Op::kSIGN},
      {"Floor", 1, 1, same_op, Op::kFLOOR},
      {"Ceil", 1, 1, same_op, Op::kCEIL},
      {"Round", 11, 1, same_op, Op::kROUND},
      {"Exp", 1, 1, same_op, Op::kEXP},
      {"Log", 1, 1, same_op, Op::kLOG},
      {"Sqrt", 1, 1, same_op, Op::kSQRT},
      {"Reciprocal", 1, 1, same_op, Op::kRECIPROCAL},
      {"Erf", 9, 1, same_op, Op::kERF},
      {"Sin", 7, 1, same_op, Op::kSIN},
      {"Cos", 7, 1, same_op, Op::kCOS},
      {"Tan", 7, 1, same_op, Op::kTAN},
      {"Asin", 7, 1, same_op, Op::kASIN},
      {"Acos", 7, 1, same_op, Op::kACOS},
      {"Atan", 7, 1, same_op, Op::kATAN},
      {"Sinh", 9, 1, same_op, Op::kSINH},
      {"Cosh", 9, 1, same_op, Op::kCOSH},
      {"Tanh", 1, 1, same_op, Op::kTANH},
      {"Asinh", 9, 1, same_op, Op::kASINH},
      {"Acosh", 9, 1, same_op, Op::kACOSH},
      {"Atanh", 9, 1, same_op, Op::kATANH},
      {"Sigmoid", 1, 1, same_op, Op::kSIGMOID},
      {"Relu", 1, 1, same_op, Op::kRELU},
      {"Softplus", 1, 1, same_op, Op::kSOFTPLUS},
      {"Softsign", 1, 1, same_op, Op::kSOFTSIGN},
      {"Mish", 18, 1, same_op, Op::kMISH},
      {"HardSwish", 14, 1, same_op, Op::kHARD_SWISH},
      {"HardSigmoid", 1, 1, hard_sigmoid, Op::kHARD_SIGMOID},
      {"LeakyRelu", 1, 1, leaky_relu, Op::kLEAKY_RELU},
      {"Elu", 1, 1, alpha_of_one, Op::kELU},
      {"Celu", 12, 1, alpha_of_one, Op::kCELU},
      {"ThresholdedRelu", 7, 1, alpha_of_one, Op::kTHRESHOLDED_RELU},
      {"Selu", 6, 1, selu, Op::kSELU},
      {"Shrink", 9, 1, shrink, Op::kSHRINK},
      {"Gelu", 20, 1, gelu, Op::kGELU},
      {"Clip", 1, 1, clip_by_attributes, Op::kCLIP, 10},
      {"Clip", 11, 1, clip},
      {"PRelu", 7, 2, same_op, Op::kPRELU},
      {"Add", 7, 2, same_op, Op::kADD},
      {"Sub", 7, 2, same_op, Op::kSUB},
      {"Mul", 7, 2, same_op, Op::kMUL},
      {"Div", 7, 2, same_op, Op::kDIV},
      {"Pow", 7, 2, same_op, Op::kPOW},
      {"Mod", 10, 2, mod, Op::kMOD},
      {"BitShift", 11, 2, bit_shift},
      {"BitwiseAnd", 18, 2, same_op, Op::kBITWISE_AND},
      {"BitwiseOr", 18, 2, same_op, Op::kBITWISE_OR},
      {"BitwiseXor", 18, 2, same_op, Op::kBITWISE_XOR},
      {"BitwiseNot", 18, 1, same_op, Op::kBITWISE_NOT},
      {"Min", 1, 1, variadic, Op::kMIN},
      {"Max", 1, 1, variadic, Op::kMAX},
      {"Sum", 1, 1, variadic, Op::kADD},
      {"Mean", 1, 1, mean},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
