// LoweringTable: how each ONNX op becomes ops of op set 1. One row an op (or a range of its versions), one file a
// family. Thread safety: const after construction.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "node_context.hpp"

namespace backplane::onnx_import {

struct Lowering {
  std::string_view op;
  int64_t since;         // first model opset that the row is for
  size_t needed_inputs;  // inputs that must be there
  Status (*lower)(NodeContext&);
  Op target = Op::kCOPY;  // for functions that serve several ops
  int64_t until = std::numeric_limits<int64_t>::max();
  Takes takes = Takes::tensors;

  constexpr Lowering taking(Takes kinds) const {
    Lowering row(*this);
    row.takes = kinds;
    return row;
  }
};

std::span<const Lowering> box_lowerings();
std::span<const Lowering> constant_lowerings();
std::span<const Lowering> control_lowerings();
std::span<const Lowering> conv_lowerings();
std::span<const Lowering> deform_lowerings();
std::span<const Lowering> det_lowerings();
std::span<const Lowering> einsum_lowerings();
std::span<const Lowering> index_lowerings();
std::span<const Lowering> legacy_lowerings();
std::span<const Lowering> linear_lowerings();
std::span<const Lowering> logic_lowerings();
std::span<const Lowering> loop_lowerings();
std::span<const Lowering> loss_lowerings();
std::span<const Lowering> math_lowerings();
std::span<const Lowering> norm_lowerings();
std::span<const Lowering> pool_lowerings();
std::span<const Lowering> quantize_lowerings();
std::span<const Lowering> recurrent_lowerings();
std::span<const Lowering> reduce_lowerings();
std::span<const Lowering> resize_lowerings();
std::span<const Lowering> sample_lowerings();
std::span<const Lowering> select_lowerings();
std::span<const Lowering> sequence_lowerings();
std::span<const Lowering> shape_lowerings();
std::span<const Lowering> signal_lowerings();
std::span<const Lowering> text_lowerings();
std::span<const Lowering> tfidf_lowerings();

class LoweringTable {
 public:
  LoweringTable();
  // The row, or null.
  const Lowering* find(const NodeDef& node, int64_t opset) const;

 private:
  std::unordered_multimap<std::string_view, const Lowering*> rows_;
};

}  // namespace backplane::onnx_import
