// Random nodes of the binary ops and of where.
#include "families.hpp"

namespace backplane::testing {
namespace {

constexpr DType kBoolOnly[] = {DType::kBOOL};
constexpr DType kUnsigned[] = {DType::kU32, DType::kU64, DType::kU16, DType::kU8};

void operands(NodeCase& node, DType a, DType b, Values values = Values::any) {
  const Shape shape = node.random.shape(0, 5);
  const Shape narrow = narrowed(node.random, shape);
  const bool swapped = node.random.chance(30);
  node.operand(a, swapped ? narrow : shape, values);
  node.operand(b, swapped ? shape : narrow, values);
}

void operands(NodeCase& node, std::span<const DType> types) {
  const DType dtype = node.type(types);
  operands(node, dtype, dtype);
}

void make_num(NodeCase& node) { operands(node, kNums); }
void make_any(NodeCase& node) { operands(node, kAnyType); }
void make_int(NodeCase& node) { operands(node, kInts); }
void make_bool(NodeCase& node) { operands(node, kBoolOnly); }

void make_extreme(NodeCase& node) {
  operands(node, kNums);
  node.tolerance.absolute = kAnyZero;
}

void make_prelu(NodeCase& node) {
  const DType dtype = node.type(kNums);
  const Shape shape = node.random.shape(0, 5);
  node.operand(dtype, shape, Values::any);
  node.operand(dtype, narrowed(node.random, shape), Values::any);
}

void make_mod(NodeCase& node) {
  const DType dtype = node.type(kNums);
  operands(node, dtype, dtype);
  if (is_float(dtype) || node.random.chance(50)) node.attrs.set(BP_ATTR_FMOD, int64_t{1});
}

void make_pow(NodeCase& node) {
  const DType base = node.type(kNums);
  const DType exponent = node.random.chance(50) ? base : node.random.pick(std::span<const DType>(kNums));
  operands(node, base, exponent, node.random.chance(50) ? Values::any : Values::moderate);
  node.tolerance.ulps = 4;
}

// Any count, also beyond the width.
void make_shift(NodeCase& node) {
  const DType dtype = node.type(kUnsigned);
  const Shape shape = node.random.shape(0, 5);
  node.operand(dtype, shape, Values::any);
  HostTensor counts = node.random.tensor(dtype, narrowed(node.random, shape), Values::any);
  const size_t width = type_layout(dtype).block_bytes;
  for (size_t at = 0; at < counts.bytes().size(); at += width) {
    if (node.random.chance(20)) continue;
    for (size_t i = 1; i < width; ++i) counts.mutable_bytes()[at + i] = {};
    counts.mutable_bytes()[at] &= std::byte{0x7F};
  }
  node.operand(std::move(counts));
}

void make_where(NodeCase& node) {
  const DType dtype = node.type(kAnyType);
  const Shape shape = node.random.shape(0, 5);
  node.operand(DType::kBOOL, narrowed(node.random, shape), Values::any);
  node.operand(dtype, narrowed(node.random, shape), Values::any);
  node.operand(dtype, narrowed(node.random, shape), Values::any);
}

}  // namespace

std::span<const OpUnderTest> binary_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kADD, DType::kF32, make_num},
      {Op::kSUB, DType::kF32, make_num},
      {Op::kMUL, DType::kF32, make_num},
      {Op::kDIV, DType::kF32, make_num},
      {Op::kPOW, DType::kF32, make_pow},
      {Op::kMOD, DType::kF32, make_mod},
      {Op::kMIN, DType::kF32, make_extreme},
      {Op::kMAX, DType::kF32, make_extreme},
      {Op::kPRELU, DType::kF32, make_prelu},
      {Op::kEQ, DType::kF32, make_any},
      {Op::kNE, DType::kF32, make_any},
      {Op::kLT, DType::kF32, make_num},
      {Op::kLE, DType::kF32, make_num},
      {Op::kGT, DType::kF32, make_num},
      {Op::kGE, DType::kF32, make_num},
      {Op::kAND, DType::kBOOL, make_bool},
      {Op::kOR, DType::kBOOL, make_bool},
      {Op::kXOR, DType::kBOOL, make_bool},
      {Op::kBITWISE_AND, DType::kI64, make_int},
      {Op::kBITWISE_OR, DType::kI64, make_int},
      {Op::kBITWISE_XOR, DType::kI64, make_int},
      {Op::kSHIFT_LEFT, DType::kU32, make_shift},
      {Op::kSHIFT_RIGHT, DType::kU32, make_shift},
      {Op::kWHERE, DType::kBOOL, make_where},
  };
  return kOps;
}

}  // namespace backplane::testing
