#include "kernels/checks.hpp"

namespace backplane_cpu {

void check_signature(const NodeView& node, uint32_t min_inputs, uint32_t max_inputs, uint32_t outputs,
                     std::initializer_list<uint32_t> attrs) {
  const uint32_t count = node.input_count();
  if (count < min_inputs || count > max_inputs) {
    refuse(std::to_string(count) + " inputs, wanted " + std::to_string(min_inputs) +
           (max_inputs == min_inputs ? "" : " to " + std::to_string(max_inputs)));
  }
  for (uint32_t i = 0; i < min_inputs; ++i)
    if (!node.has_input(i)) refuse("input " + std::to_string(i) + " is absent");
  if (node.output_count() != outputs)
    refuse(std::to_string(node.output_count()) + " outputs, wanted " + std::to_string(outputs));
  if (!node.has_output(0)) refuse("output 0 is absent");
  if (const bp_attr* a = node.unknown_attr({attrs.begin(), attrs.size()}))
    refuse("attribute " + std::to_string(a->key) + " is not known for this op");
}

void check_shape(const TensorView& tensor, std::span<const int64_t> wanted) {
  if (!same_shape(tensor.shape(), wanted))
    refuse("shape " + shape_text(tensor.shape()) + ", wanted " + shape_text(wanted));
}

void check_blocks(const TensorView& tensor) {
  const int64_t elements = backplane::sdk::type_layout(tensor.dtype()).block_elements;
  require(tensor.rank() >= 1, "a block-quantised tensor wants an axis");
  require(tensor.shape().back() % elements == 0, "the last axis of a block-quantised tensor wants whole blocks");
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace backplane_cpu
