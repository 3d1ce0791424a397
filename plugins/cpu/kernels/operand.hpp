// Operand: shape and element strides of one tensor of a node, copied out of the graph; and the checks by which the
// larger kernels refuse a node.
//
// The checks throw sdk::Error with a text that says what was wanted and what was found; `refuse_on_error` turns it into
// a refusal, so a factory reads as a list of demands. Thread safety: values.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"

namespace backplane_cpu {

namespace sdk = backplane::sdk;

struct Operand {
  uint32_t dtype = 0;  // 0 = absent
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements

  bool present() const { return dtype != 0; }
  uint32_t rank() const { return static_cast<uint32_t>(shape.size()); }
  int64_t extent(uint32_t axis) const { return shape[axis]; }
  // The stride of an axis of extent 1 is never used; zero keeps the layout checks simple.
  int64_t stride(uint32_t axis) const { return shape[axis] == 1 ? 0 : strides[axis]; }
  int64_t elements() const {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return count;
  }
  // Whether the axes [first, last) can be walked as one axis, and the stride of that axis.
  bool collapses(uint32_t first, uint32_t last, int64_t& stride_out) const {
    int64_t expected = -1;
    stride_out = 0;
    for (uint32_t axis = last; axis-- > first;) {
      if (shape[axis] == 1) continue;
      if (expected < 0) {
        stride_out = strides[axis];
      } else if (strides[axis] != expected) {
        return false;
      }
      expected = strides[axis] * shape[axis];
    }
    return true;
  }
};

inline std::string list_text(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
  return text + "]";
}

[[noreturn]] inline void refuse_node(const NodeView& node, const std::string& why) {
  throw sdk::Error(BP_E_UNSUPPORTED, std::string(sdk::op_name(node.op())) + ": " + why);
}

template <class Body>
Prepared refuse_on_error(Body&& body) {
  try {
    return body();
  } catch (const sdk::Error& error) {
    return Prepared::refuse(error.what());
  }
}

inline Operand read_operand(const NodeView& node, const TensorView& tensor, const std::string& what) {
  Operand operand;
  operand.dtype = tensor.dtype();
  operand.shape.assign(tensor.shape().begin(), tensor.shape().end());
  const int64_t bytes = std::max<int64_t>(sdk::type_layout(tensor.dtype()).block_bytes, 1);
  for (const int64_t stride : tensor.strides()) {
    if (stride % bytes != 0)
      refuse_node(node, what + " has a stride of " + std::to_string(stride) + " bytes, wanted a multiple of " +
                            std::to_string(bytes));
    operand.strides.push_back(stride / bytes);
  }
  return operand;
}

// The input or output at `index`; an absent one gives an absent operand if `optional`, else a refusal.
inline Operand input_operand(const NodeView& node, uint32_t index, const char* name, bool optional = false) {
  if (node.has_input(index)) return read_operand(node, node.input(index), name);
  if (!optional) refuse_node(node, std::string("wanted an input ") + name + ", found none");
  return {};
}
inline Operand output_operand(const NodeView& node, uint32_t index, const char* name, bool optional = false) {
  if (node.has_output(index)) return read_operand(node, node.output(index), name);
  if (!optional) refuse_node(node, std::string("wanted an output ") + name + ", found none");
  return {};
}

inline void want_counts(const NodeView& node, uint32_t max_inputs, uint32_t max_outputs) {
  if (node.input_count() > max_inputs || node.output_count() > max_outputs)
    refuse_node(node, "wanted at most " + std::to_string(max_inputs) + " inputs and " + std::to_string(max_outputs) +
                          " outputs, found " + std::to_string(node.input_count()) + " and " +
                          std::to_string(node.output_count()));
}

inline void want_attrs(const NodeView& node, std::initializer_list<uint32_t> known) {
  if (const bp_attr* unknown = node.unknown_attr({known.begin(), known.size()}))
    refuse_node(node, "attribute " + std::to_string(unknown->key) + " is not known to this op");
}

inline void want_type(const NodeView& node, const Operand& operand, const char* name, uint32_t dtype) {
  if (operand.present() && operand.dtype != dtype)
    refuse_node(node,
                std::string(name) + " has type " + sdk::type_name(operand.dtype) + ", wanted " + sdk::type_name(dtype));
}

// f32 or f64.
inline void want_float(const NodeView& node, const Operand& operand, const char* name) {
  if (operand.dtype != BP_TYPE_F32 && operand.dtype != BP_TYPE_F64)
    refuse_node(node, std::string(name) + " has type " + sdk::type_name(operand.dtype) + ", wanted f32 or f64");
}

inline void want_shape(const NodeView& node, const Operand& operand, const char* name,
                       const std::vector<int64_t>& shape) {
  if (operand.present() && operand.shape != shape)
    refuse_node(node, std::string(name) + " has shape " + list_text(operand.shape) + ", wanted " + list_text(shape));
}

inline void want_rank(const NodeView& node, const Operand& operand, const char* name, uint32_t low, uint32_t high) {
  if (operand.rank() < low || operand.rank() > high)
    refuse_node(node, std::string(name) + " has rank " + std::to_string(operand.rank()) + ", wanted " +
                          std::to_string(low) + " to " + std::to_string(high));
}

// An attribute that must lie in [low, high].
inline int64_t want_i64(const NodeView& node, uint32_t key, const char* name, int64_t fallback, int64_t low,
                        int64_t high) {
  const int64_t value = node.i64(key, fallback);
  if (value < low || value > high)
    refuse_node(node, std::string(name) + " is " + std::to_string(value) + ", wanted " + std::to_string(low) + " to " +
                          std::to_string(high));
  return value;
}

// Element offset of the index-th element, in logical order, of the axes [first, last).
inline int64_t offset_of(const Operand& operand, uint32_t first, uint32_t last, int64_t index) {
  int64_t offset = 0;
  for (uint32_t axis = last; axis-- > first;) {
    offset += index % operand.shape[axis] * operand.strides[axis];
    index /= operand.shape[axis];
  }
  return offset;
}

template <class T>
const T* input_data(const RunArgs& args, uint32_t index) {
  return reinterpret_cast<const T*>(args.inputs[index]);
}
template <class T>
T* output_data(const RunArgs& args, uint32_t index) {
  return reinterpret_cast<T*>(args.outputs[index]);
}

// How many workers are worth waking for `operations` multiply-adds (or steps of like cost).
inline uint32_t worth_workers(int64_t operations) {
  constexpr int64_t kOperationsPerWorker = 32 * 1024;
  return static_cast<uint32_t>(std::min<int64_t>(1 + operations / kOperationsPerWorker, 1024));
}

}  // namespace backplane_cpu
