// Random nodes of the unary ops.
#include "families.hpp"

namespace backplane::testing {
namespace {

constexpr DType kBoolOnly[] = {DType::kBOOL};

void random_attr(NodeCase& node, uint32_t key, double least, double most) {
  // Multiples of 1/8 are exact in every float type.
  if (node.random.chance(60))
    node.attrs.set(
        key,
        static_cast<double>(node.random.between(static_cast<int64_t>(least * 8), static_cast<int64_t>(most * 8))) / 8);
}

void operand_of(NodeCase& node, std::span<const DType> types) {
  node.operand(node.type(types), node.random.shape(0, 5), Values::any);
}

void make_exact_num(NodeCase& node) { operand_of(node, kNums); }
void make_exact_int(NodeCase& node) { operand_of(node, kInts); }
void make_exact_bool(NodeCase& node) { operand_of(node, kBoolOnly); }
void make_exact_float(NodeCase& node) { operand_of(node, kFloats); }

void make_function(NodeCase& node) {
  operand_of(node, kFloats);
  node.tolerance.ulps = 4;
}

// Functions whose value is a product of which one factor may be denormal, and so short of digits.
void make_product(NodeCase& node) {
  make_function(node);
  node.tolerance.absolute = 0x1p-140;
}

// max(0, -0) may be either zero.
void make_relu(NodeCase& node) {
  operand_of(node, kNums);
  node.tolerance.absolute = kAnyZero;
}

void make_is_inf(NodeCase& node) {
  operand_of(node, kFloats);
  if (node.random.chance(50)) node.attrs.set(BP_ATTR_DETECT_POSITIVE, node.random.between(0, 1));
  if (node.random.chance(50)) node.attrs.set(BP_ATTR_DETECT_NEGATIVE, node.random.between(0, 1));
}

void make_alpha(NodeCase& node) {
  make_function(node);
  random_attr(node, BP_ATTR_ALPHA, 0.25, 2);
}

void make_celu(NodeCase& node) {
  make_alpha(node);
  if (!node.random.chance(20)) return;
  node.attrs.set(BP_ATTR_ALPHA, -1.5);  // x / alpha is then large, and its rounding error grows exponentially
  node.tolerance.relative = 0x1p-16;
}

void make_hard_sigmoid(NodeCase& node) {
  make_alpha(node);
  random_attr(node, BP_ATTR_BETA, -1, 1);
  node.tolerance.absolute = 0x1p-23;  // the sum cancels
}

void make_hard_swish(NodeCase& node) {
  make_function(node);
  node.tolerance.absolute = 0x1p-20;  // x/6 + 0.5 cancels at -3
}

void make_selu(NodeCase& node) {
  make_alpha(node);
  random_attr(node, BP_ATTR_GAMMA, 0.25, 2);
}

void make_thresholded_relu(NodeCase& node) {
  operand_of(node, kFloats);
  random_attr(node, BP_ATTR_ALPHA, -2, 2);
}

void make_gelu(NodeCase& node) {
  make_product(node);
  node.tolerance.ulps = 5;  // a product of three functions, each within one or two
  if (node.first_type() == DType::kF64) node.tolerance.relative = 0x1p-42;  // the reference computes in f64 too
  if (!node.random.chance(50)) return;
  node.attrs.set(BP_ATTR_APPROXIMATE, std::string("tanh"));
  node.tolerance.absolute = 0x1p-22;  // 1 + tanh cancels
}

void make_shrink(NodeCase& node) {
  operand_of(node, kNums);
  random_attr(node, BP_ATTR_LAMBD, -1, 3);
  random_attr(node, BP_ATTR_BIAS, -2, 2);
}

void make_clip(NodeCase& node) {
  const DType dtype = node.type(kNums);
  node.operand(dtype, node.random.shape(0, 5), Values::any);
  const auto bound = [&] {
    node.operand(dtype, node.random.chance(50) ? Shape{} : Shape{1},
                 node.random.chance(70) ? Values::moderate : Values::any);
  };
  const bool has_lo = node.random.chance(60), has_hi = node.random.chance(60);
  if (has_lo) bound();
  if (has_hi && !has_lo) node.absent();
  if (has_hi) bound();
  node.tolerance.absolute = kAnyZero;
}

constexpr OpUnderTest function(Op op) { return {op, DType::kF32, make_function}; }

}  // namespace

std::span<const OpUnderTest> unary_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kABS, DType::kF32, make_exact_num},
      {Op::kNEG, DType::kF32, make_exact_num},
      {Op::kSIGN, DType::kF32, make_exact_num},
      {Op::kRELU, DType::kF32, make_relu},
      {Op::kFLOOR, DType::kF32, make_exact_float},
      {Op::kCEIL, DType::kF32, make_exact_float},
      {Op::kROUND, DType::kF32, make_exact_float},
      {Op::kSQRT, DType::kF32, make_exact_float},
      {Op::kRECIPROCAL, DType::kF32, make_exact_float},
      {Op::kNOT, DType::kBOOL, make_exact_bool},
      {Op::kBITWISE_NOT, DType::kI64, make_exact_int},
      {Op::kIS_NAN, DType::kF32, make_exact_float},
      {Op::kIS_INF, DType::kF32, make_is_inf},
      function(Op::kEXP),
      function(Op::kLOG),
      function(Op::kERF),
      function(Op::kSIN),
      function(Op::kCOS),
      function(Op::kTAN),
      function(Op::kASIN),
      function(Op::kACOS),
      function(Op::kATAN),
      function(Op::kSINH),
      function(Op::kCOSH),
      function(Op::kTANH),
      function(Op::kASINH),
      function(Op::kACOSH),
      function(Op::kATANH),
      function(Op::kSIGMOID),
      {Op::kSILU, DType::kF32, make_product},
      function(Op::kSOFTPLUS),
      function(Op::kSOFTSIGN),
      {Op::kMISH, DType::kF32, make_product},
      {Op::kHARD_SIGMOID, DType::kF32, make_hard_sigmoid},
      {Op::kHARD_SWISH, DType::kF32, make_hard_swish},
      {Op::kLEAKY_RELU, DType::kF32, make_alpha},
      {Op::kELU, DType::kF32, make_alpha},
      {Op::kCELU, DType::kF32, make_celu},
      {Op::kSELU, DType::kF32, make_selu},
      {Op::kGELU, DType::kF32, make_gelu},
      {Op::kTHRESHOLDED_RELU, DType::kF32, make_thresholded_relu},
      {Op::kSHRINK, DType::kF32, make_shrink},
      {Op::kCLIP, DType::kF32, make_clip},
  };
  return kOps;
}

}  // namespace backplane::testing
