#include "kernels/broadcast.hpp"
#include "kernels/chunk_functions.hpp"
#include "kernels/families.hpp"

namespace backplane_cpu {
namespace {

template <class T>
void choose(const Chunk& chunk) {
  const uint8_t* condition = static_cast<const uint8_t*>(chunk.in[0]);
  const T* x = static_cast<const T*>(chunk.in[1]);
  const T* y = static_cast<const T*>(chunk.in[2]);
  T* out = static_cast<T*>(chunk.out);
  for (int64_t i = 0; i < chunk.count; ++i) out[i] = condition[i] != 0 ? x[i] : y[i];
}

ChunkFn select(Compute compute) {
  switch (compute) {
    case Compute::kF32:
      return choose<float>;
    case Compute::kF64:
      return choose<double>;
    case Compute::kI64:
      return choose<int64_t>;
    case Compute::kU64:
      return choose<uint64_t>;
    case Compute::kBool:
      return choose<uint8_t>;
    default:
      return nullptr;
  }
}

}  // namespace

Prepared prepare_where(const NodeView& node) {
  check_signature(node, 3, 3, 1);
  const TensorView x = node.input(1);
  check_type(node.input(0), node.input(0).dtype() == BP_TYPE_BOOL, "bool for the condition");
  check_type(node.input(2), node.input(2).dtype() == x.dtype(), "the type of input 1");
  check_type(node.output(0), node.output(0).dtype() == x.dtype(), "the type of input 1");
  check_broadcast(node);
  const Compute compute = compute_of(x.dtype());
  const ChunkFn function = select(compute);
  check_type(x, function != nullptr, "a plain type");
  return {std::make_unique<ElementwiseKernel>(node, compute, function), {}, 0b111};
}

}  // namespace backplane_cpu
