// The kernels of the fake plugin: plain scalar loops over strides, one accumulation order, exact integers. The same
// node gives the same bits on every fake device, so a wrong byte anywhere shows in a test's bitwise comparison.
// Thread safety: pure functions; an operand's memory is the caller's.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backplane/sdk/graph_view.hpp"

namespace fake {

using backplane::sdk::NodeView;

// The custom op "fake.mix": any number of i32 inputs of the output's shape; out[i] folds inputs[k][i], k and i through
// a non-commutative integer hash, so that swapped operands, shifted data and stale bytes all change the result.
inline constexpr const char* kMixOpName = "fake.mix";

struct Operand {
  std::byte* data = nullptr;  // null = absent
  uint32_t dtype = 0;
  std::span<const int64_t> shape, strides;
};

using Operands = std::span<const Operand>;

struct Kernel {
  const char* name;
  // Returns why the node cannot run, or an empty text.
  std::string (*refuse)(const NodeView& node);
  // Throws BP_E_DATA for contents that the op forbids.
  void (*run)(const NodeView& node, Operands inputs, Operands outputs);
  bool elementwise;  // the output may use the memory of an input of equal shape, type and strides
};

// Returns the kernel of an op, or null. `mix_op` is the interned id of kMixOpName.
const Kernel* find_kernel(uint32_t op, uint32_t mix_op);

// One family each; null if the op is not of the family.
const Kernel* find_movement(uint32_t op);
const Kernel* find_unary(uint32_t op);
const Kernel* find_binary(uint32_t op);
const Kernel* find_reduction(uint32_t op);

// ---- what the families share

// Calls body(offsets) for each element of `shape` in row-major order; offsets[k] is the byte offset that
// strides[k], one entry per axis, give.
template <class Body>
void for_each_offset(std::span<const int64_t> shape, std::span<const std::vector<int64_t>> strides, const Body& body) {
  for (const int64_t extent : shape)
    if (extent == 0) return;
  std::vector<int64_t> index(shape.size(), 0), offsets(strides.size(), 0);
  for (;;) {
    body(std::span<const int64_t>(offsets));
    size_t axis = shape.size();
    for (;;) {
      if (axis-- == 0) return;
      for (size_t k = 0; k < strides.size(); ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < shape[axis]) break;
      for (size_t k = 0; k < strides.size(); ++k) offsets[k] -= strides[k][axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

// Strides of an operand seen through `shape` with broadcasting: axes align at the right, extent 1 repeats.
std::vector<int64_t> broadcast_strides(const Operand& operand, std::span<const int64_t> shape);

// Whether `from` broadcasts to `to`.
bool broadcasts(std::span<const int64_t> from, std::span<const int64_t> to);

// Returns "" if the node has `inputs` present inputs, one output, and no attribute but `attrs`; else why not.
std::string refuse_form(const NodeView& node, uint32_t inputs, std::span<const uint32_t> attrs = {});

bool equal(std::span<const int64_t> a, std::span<const int64_t> b);
bool plain(uint32_t dtype);               // has one element per block
bool arithmetic(uint32_t dtype);          // f32, i32 or i64
std::string refuse_type(uint32_t dtype);  // "no kernel for f16"
size_t element_bytes(uint32_t dtype);

template <class T>
T load(const std::byte* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void store(std::byte* at, T value) {
  __builtin_memcpy(at, &value, sizeof value);
}

// op(a, b); integers wrap.
template <class T, class Op>
T wrapping(T a, T b, const Op& op) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(op(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return op(a, b);
  }
}

// Calls body(T{}) with the C++ type of an arithmetic dtype.
template <class Body>
void with_arithmetic(uint32_t dtype, const Body& body) {
  if (dtype == BP_TYPE_F32) return body(float{});
  if (dtype == BP_TYPE_I32) return body(int32_t{});
  body(int64_t{});
}

}  // namespace fake
