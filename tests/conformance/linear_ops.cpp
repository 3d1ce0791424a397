// Random nodes of matmul, gemm and matmul_id.
#include "families.hpp"

namespace backplane::testing {
namespace {

// Mostly small, at times across the edges of any blocking.
int64_t extent(Random& random) {
  if (random.chance(3)) return 0;
  return random.chance(20) ? random.between(10, 70) : random.between(1, 9);
}

Values values_for(NodeCase& node, DType dtype) {
  if (!is_float(dtype)) return node.random.chance(30) ? Values::any : Values::moderate;
  return mostly_moderate(node.random);
}

// Of k terms of at most 16 each.
Tolerance product_tolerance(DType dtype, int64_t k) {
  return {.ulps = 4, .absolute = epsilon_of(dtype) * 16 * static_cast<double>(k + 1)};
}

// Of operands that may be broadcast: equal terms round alike, so that their errors add up.
Tolerance equal_terms_tolerance(DType dtype, int64_t k) {
  Tolerance tolerance = product_tolerance(dtype, k);
  tolerance.absolute *= 1 + static_cast<double>(k) / 4;
  return tolerance;
}

// Of weights that are block-quantised along the summed axis.
void make_block_matmul(NodeCase& node) {
  Random& random = node.random;
  const DType dtype = random.pick<DType>({DType::kF32, DType::kF32, DType::kF16, DType::kBF16});
  const int64_t k = 256 * random.between(1, 2);
  Shape a = random_list(random, static_cast<size_t>(random.between(0, 2)), 1, 3), b = a;
  if (random.chance(50)) b.clear();
  if (a.empty() || random.chance(80)) a.push_back(extent(random));
  if (random.chance(10)) a.clear(), b.clear();
  a.push_back(k);
  b.insert(b.end(), {extent(random), k});
  if (a.size() < b.size() && a.size() > 1) b.erase(b.begin(), b.end() - 2);
  node.operand(dtype, a, Values::moderate);
  node.operand(random.tensor(random.pick(std::span<const DType>(kBlockTypes)), b, Values::moderate));
  node.tolerance = product_tolerance(dtype, k);
}

void make_matmul(NodeCase& node) {
  Random& random = node.random;
  if (random.chance(15)) return make_block_matmul(node);
  const DType dtype = node.type(kNums);
  const int64_t m = extent(random), k = extent(random), n = extent(random);
  const Shape batch = random_list(random, static_cast<size_t>(random.between(0, 3)), 1, 3);
  const auto batched = [&](Shape matrix) {
    Shape shape = batch;
    for (int64_t& axis : shape)
      if (random.chance(30)) axis = 1;
    shape.erase(shape.begin(), shape.begin() + (random.chance(30) ? random.between(0, std::ssize(shape)) : 0));
    shape.insert(shape.end(), matrix.begin(), matrix.end());
    return shape;
  };
  node.operand(dtype, random.chance(10) ? Shape{k} : batched({m, k}), values_for(node, dtype));
  node.operand(dtype, random.chance(10) ? Shape{k} : batched({k, n}), values_for(node, dtype));
  node.tolerance = equal_terms_tolerance(dtype, k);
}

void make_gemm(NodeCase& node) {
  Random& random = node.random;
  const DType dtype = node.type(kNums);
  const int64_t m = extent(random), k = extent(random), n = extent(random);
  node.operand(dtype, {m, k}, values_for(node, dtype));
  node.operand(dtype, {k, n}, values_for(node, dtype));
  if (random.chance(60)) {
    const Shape shapes[] = {{m, n}, {n}, {1, n}, {m, 1}, {1}, {}};
    node.operand(dtype, random.pick(std::span<const Shape>(shapes)), values_for(node, dtype));
  }
  // Fractions only for floats: integers times a fraction are not what a model would ask for.
  const auto factor = [&] { return random.pick<double>({0.0, 1.0, 2.0, -1.0, is_float(dtype) ? 0.75 : 3.0}); };
  if (random.chance(50)) node.attrs.set(BP_ATTR_ALPHA, factor());
  if (random.chance(50)) node.attrs.set(BP_ATTR_BETA, factor());
  node.tolerance = equal_terms_tolerance(dtype, 2 * k + 1);
}

void make_matmul_id(NodeCase& node) {
  Random& random = node.random;
  const bool blocks = random.chance(35);
  const DType dtype =
      blocks ? random.pick<DType>({DType::kF32, DType::kF32, DType::kF16, DType::kBF16}) : node.type(kFloats);
  const int64_t k = blocks ? 256 * random.between(1, 2) : extent(random), n = extent(random);
  const int64_t count = random.between(1, 5);
  const Shape ids = random_list(random, static_cast<size_t>(random.between(0, 3)), random.chance(5) ? 0 : 1, 4);
  Shape x = narrowed(random, ids);
  x.push_back(k);
  node.operand(dtype, x, blocks ? Values::moderate : values_for(node, dtype));
  if (blocks)
    node.operand(random.tensor(random.pick(std::span<const DType>(kBlockTypes)), {count, n, k}, Values::moderate));
  else
    node.operand(dtype, {count, k, n}, Values::moderate);
  add_indices(node, ids, {count});
  node.tolerance = blocks ? product_tolerance(dtype, k) : equal_terms_tolerance(dtype, k);
}

}  // namespace

std::span<const OpUnderTest> linear_ops() {
  static constexpr OpUnderTest kOps[] = {
      {Op::kMATMUL, DType::kF32, make_matmul},
      {Op::kGEMM, DType::kF32, make_gemm},
      {Op::kMATMUL_ID, DType::kF32, make_matmul_id},
  };
  return kOps;
}

}  // namespace backplane::testing
