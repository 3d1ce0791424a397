// Random nodes of rope and attention.
#include <cmath>

#include "backplane/reference/reference.hpp"
#include "families.hpp"

namespace backplane::testing {
namespace {

HostTensor integers(Random& random, const Shape& shape, int64_t least, int64_t most) {
  const std::vector<int64_t> wide = random_list(random, static_cast<size_t>(element_product(shape)), least, most);
  if (random.chance(50)) return HostTensor::of<int64_t>(DType::kI64, shape, wide);
  return HostTensor::of<int32_t>(DType::kI32, shape, std::vector<int32_t>(wide.begin(), wide.end()));
}

void make_rope(NodeCase& node) {
  Random& random = node.random;
  const DType dtype = node.type(kFloats);
  Shape shape = random.shape(1, 4);
  node.operand(dtype, shape, mostly_moderate(random));
  const int64_t width = shape.back();
  const int64_t turned = width % 2 != 0 || random.chance(40) ? 2 * random.between(0, width / 2) : width;
  if (turned != width || random.chance(30)) node.attrs.set(BP_ATTR_ROTARY_DIM, turned);
  if (random.chance(60)) node.attrs.set(BP_ATTR_INTERLEAVED, random.between(0, 1));
  if (random.chance(40)) node.attrs.set(BP_ATTR_BASE, random.pick<double>({100.0, 10000.0, 500000.0}));
  if (random.chance(30)) node.attrs.set(BP_ATTR_SCALE, random.pick<double>({0.25, 1.0, -1.0}));
  shape.pop_back();
  node.operand(integers(random, narrowed(random, shape), -5, random.chance(20) ? 100000 : 50));
  if (random.chance(30)) node.operand(DType::kF32, {turned / 2}, Values::positive);
  node.tolerance = {.ulps = 4, .absolute = epsilon_of(dtype) * 16};
}

struct Attention {
  int64_t batch, heads, rows, depth, key_heads, keys, width;
};

Attention random_attention(Random& random) {
  const auto length = [&](int64_t most) { return random.chance(20) ? random.between(10, most) : random.between(1, 9); };
  Attention a{
      random.between(random.chance(3) ? 0 : 1, 2), 0, length(40), length(70), random.between(1, 3), length(150), 0};
  a.heads = a.key_heads * random.pick<int64_t>({1, 1, 2, 4});
  a.width = random.chance(70) ? a.depth : length(20);
  if (random.chance(3)) a.keys = 0;
  return a;
}

// Bools, or numbers with -infinity among them.
void add_mask(NodeCase& node, DType dtype, const Attention& a) {
  Random& random = node.random;
  const Shape shape = narrowed(random, {a.batch, a.heads, a.rows, a.keys});
  if (random.chance(50)) return node.operand(DType::kBOOL, shape, Values::any);
  HostTensor wide = HostTensor::zeros(DType::kF64, shape).value();
  for (int64_t i = 0; i < wide.elements(); ++i)
    wide.mutable_data<double>()[i] = random.chance(25) ? -INFINITY : random.real(-2, 2);
  const AttrList to = {{BP_ATTR_TO, static_cast<int64_t>(dtype)}};
  node.operand(reference::evaluate(Op::kCAST, std::span(&wide, 1), to).value()[0]);
}

// Within the keys, at times beyond: then the run must fail, as the reference does.
void add_past(NodeCase& node, const Attention& a) {
  const Shape shape = node.random.chance(50) ? Shape{} : Shape{a.batch};
  if (node.random.chance(5)) return node.operand(integers(node.random, shape, a.keys + 1, a.keys + 3));
  node.operand(integers(node.random, shape, 0, a.keys - a.rows));
}

void make_attention(NodeCase& node) {
  Random& random = node.random;
  const DType dtype = node.type(kFloats);
  const DType stored =
      dtype == DType::kF64 || random.chance(70) ? dtype : random.pick<DType>({DType::kF32, DType::kF16, DType::kBF16});
  Attention a = random_attention(random);
  const bool has_past = random.chance(40);
  if (has_past && a.keys < a.rows) a.keys += a.rows;
  const auto values = [&] { return random.chance(5) ? Values::special : Values::unit; };
  node.operand(dtype, {a.batch, a.heads, a.rows, a.depth}, mostly_moderate(random));
  node.operand(stored, {a.batch, a.key_heads, a.keys, a.depth}, values());
  node.operand(stored, {a.batch, a.key_heads, a.keys, a.width}, values());
  if (random.chance(50))
    add_mask(node, dtype, a);
  else if (has_past)
    node.absent();
  if (has_past) add_past(node, a);
  if (random.chance(50)) node.attrs.set(BP_ATTR_CAUSAL, random.between(0, 1));
  if (random.chance(30)) node.attrs.set(BP_ATTR_SCALE, random.real(-1, 1));
  if (random.chance(25)) node.attrs.set(BP_ATTR_SOFTCAP, random.pick<double>({0.0, 2.0, 30.0}));
  node.tolerance = {.ulps = 4, .absolute = epsilon_of(dtype) * 64 * (std::sqrt(static_cast<double>(a.depth)) + 1)};
}

}  // namespace

std::span<const OpUnderTest> attention_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kROPE, DType::kF32, make_rope},
      {Op::kATTENTION, DType::kF32, make_attention},
  };
  return kOps;
}

}  // namespace backplane::testing
