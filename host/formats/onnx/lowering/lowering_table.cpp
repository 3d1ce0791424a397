#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {

LoweringTable::LoweringTable() {
  for (const std::span<const Lowering> family :
       {box_lowerings(),    constant_lowerings(), control_lowerings(),   conv_lowerings(),   deform_lowerings(),
        det_lowerings(),    einsum_lowerings(),   index_lowerings(),     legacy_lowerings(), linear_lowerings(),
        logic_lowerings(),  loop_lowerings(),     loss_lowerings(),      math_lowerings(),   norm_lowerings(),
        pool_lowerings(),   quantize_lowerings(), recurrent_lowerings(), reduce_lowerings(), resize_lowerings(),
        sample_lowerings(), select_lowerings(),   sequence_lowerings(),  shape_lowerings(),  signal_lowerings(),
        text_lowerings(),   tfidf_lowerings()}) {
    for (const Lowering& row : family) rows_.emplace(row.op, &row);
  }
}

const Lowering* LoweringTable::find(const NodeDef& node, int64_t opset) const {
  if (!node.domain.empty()) return nullptr;
  const auto [first, last] = rows_.equal_range(node.op);
  for (auto row = first; row != last; ++row) {
    if (opset >= row->second->since && opset <= row->second->until) return row->second;
  }
  return nullptr;
}

}  // namespace backplane::onnx_import
