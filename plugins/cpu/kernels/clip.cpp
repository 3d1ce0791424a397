#include <algorithm>

#include "kernels/checks.hpp"
#include "kernels/chunk_functions.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

// min(hi, max(lo, x)); an x that is NaN fails both comparisons and stays, a bound that is NaN makes all NaN. A bound is
// one value for the whole chunk.
template <class T>
void clip(const Chunk& chunk) {
  const T* x = static_cast<const T*>(chunk.in[0]);
  const T* low = static_cast<const T*>(chunk.in[1]);
  const T* high = static_cast<const T*>(chunk.in[2]);
  T* y = static_cast<T*>(chunk.out);
  const T lowest = low != nullptr ? low[0] : T{};
  const T highest = high != nullptr ? high[0] : T{};
  if (lowest != lowest || highest != highest) {
    std::fill_n(y, chunk.count, lowest != lowest ? lowest : highest);
    return;
  }
  for (int64_t i = 0; i < chunk.count; ++i) {
    T value = x[i];
    if (low != nullptr) value = value < lowest ? lowest : value;
    if (high != nullptr) value = value > highest ? highest : value;
    y[i] = value;
  }
}

ChunkFn select(Compute compute) {
  switch (compute) {
    case Compute::kF32:
      return clip<float>;
    case Compute::kF64:
      return clip<double>;
    case Compute::kI64:
      return clip<int64_t>;
    case Compute::kU64:
      return clip<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

Prepared prepare_clip(const NodeView& node) {
  check_signature(node, 1, 3, 1);
  const TensorView x = node.input(0);
  for (uint32_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    check_type(node.input(i), node.input(i).dtype() == x.dtype(), "the type of input 0");
    require(node.input(i).elements() == 1, "a bound of clip is a scalar");
  }
  check_type(node.output(0), node.output(0).dtype() == x.dtype(), "the type of input 0");
  check_shape(node.output(0), x.shape());
  const Compute compute = compute_of(x.dtype());
  const ChunkFn function = select(compute);
  check_type(x, function != nullptr, "a number");
  return {std::make_unique<ElementwiseKernel>(node, compute, function), {}, 1};
}

}  // namespace backplane_cpu
