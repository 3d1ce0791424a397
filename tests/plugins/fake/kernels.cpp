#include "kernels.hpp"

#include <algorithm>

namespace fake {

using backplane::sdk::type_layout;
using backplane::sdk::type_name;

namespace {

std::string refuse_mix(const NodeView& node) {
  if (node.input_count() == 0) return "fake.mix wants at least one input";
  if (std::string why = refuse_form(node, node.input_count()); !why.empty()) return why;
  if (node.output(0).dtype() != BP_TYPE_I32) return refuse_type(node.output(0).dtype());
  for (uint32_t i = 0; i < node.input_count(); ++i)
    if (node.input(i).dtype() != BP_TYPE_I32 || !equal(node.input(i).shape(), node.output(0).shape()))
      return "fake.mix wants i32 inputs of the output's shape";
  return "";
}

void run_mix(const NodeView&, Operands inputs, Operands outputs) {
  const Operand& out = outputs[0];
  std::vector<std::vector<int64_t>> strides;
  for (const Operand& in : inputs) strides.push_back(broadcast_strides(in, out.shape));
  strides.push_back(broadcast_strides(out, out.shape));
  uint32_t element = 0;
  for_each_offset(out.shape, strides, [&](std::span<const int64_t> at) {
    uint32_t hash = 0x9E3779B9u ^ element++;
    for (size_t k = 0; k < inputs.size(); ++k) {
      hash = (hash ^ load<uint32_t>(inputs[k].data + at[k])) * 0x85EBCA6Bu + static_cast<uint32_t>(k);
      hash ^= hash >> 15;
    }
    store(out.data + at[inputs.size()], hash);
  });
}

constexpr Kernel kMix{kMixOpName, refuse_mix, run_mix, true};

}  // namespace

const Kernel* find_kernel(uint32_t op, uint32_t mix_op) {
  if (op == mix_op) return &kMix;
  for (const auto find : {find_movement, find_unary, find_binary, find_reduction})
    if (const Kernel* kernel = find(op)) return kernel;
  return nullptr;
}

std::vector<int64_t> broadcast_strides(const Operand& operand, std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 0);
  const size_t lead = shape.size() - operand.shape.size();
  for (size_t axis = 0; axis < operand.shape.size(); ++axis)
    if (operand.shape[axis] != 1) strides[lead + axis] = operand.strides[axis];
  return strides;
}

bool broadcasts(std::span<const int64_t> from, std::span<const int64_t> to) {
  if (from.size() > to.size()) return false;
  const size_t lead = to.size() - from.size();
  for (size_t axis = 0; axis < from.size(); ++axis)
    if (from[axis] != 1 && from[axis] != to[lead + axis]) return false;
  return true;
}

std::string refuse_form(const NodeView& node, uint32_t inputs, std::span<const uint32_t> attrs) {
  if (node.input_count() != inputs) return "wanted " + std::to_string(inputs) + " inputs";
  for (uint32_t i = 0; i < inputs; ++i)
    if (!node.has_input(i)) return "input " + std::to_string(i) + " is absent";
  if (node.output_count() != 1 || !node.has_output(0)) return "wanted one output";
  if (const bp_attr* attr = node.unknown_attr(attrs)) return "attribute " + std::to_string(attr->key) + " is unknown";
  return "";
}

bool equal(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

bool plain(uint32_t dtype) { return type_layout(dtype).block_elements == 1; }

bool arithmetic(uint32_t dtype) { return dtype == BP_TYPE_F32 || dtype == BP_TYPE_I32 || dtype == BP_TYPE_I64; }

std::string refuse_type(uint32_t dtype) { return std::string("no kernel for type ") + type_name(dtype); }

size_t element_bytes(uint32_t dtype) { return type_layout(dtype).block_bytes; }

}  // namespace fake
