// Control flow and nodes that only pass values on.
#include "backplane/base/text.hpp"
#include "lowering/lowering_table.hpp"

namespace backplane::onnx_import {
namespace {

Status identity(NodeContext& c) { return c.set(0, c.in(0)); }

Status if_else(NodeContext& c) {
  BP_TRY_ASSIGN(const bool condition, c.known_bool(c.in(0)));
  const std::string key = condition ? "then_branch" : "else_branch";
  const GraphDef* branch = c.graph(key);
  if (!branch) return invalid_argument(cat("attribute '", key, "' must be a graph"));
  BP_TRY_ASSIGN(const std::vector<TensorId> outputs, c.inliner.inline_graph(*branch, {}, key));
  return c.set_all(outputs);
}

// Inference: the data passes, and the mask says that all of it did.
Status dropout(NodeContext& c) {
  if (c.has(2)) {
    BP_TRY_ASSIGN(const std::vector<double> training, c.in_f64s(2));
    BP_TRY_ASSIGN(const std::vector<double> ratio, c.in_f64s(1));
    const bool keeps_all = ratio.size() == 1 && ratio[0] == 0;
    if ((training.size() != 1 || training[0] != 0) && !keeps_all)
      return unimplemented("it is in training mode, where its output is random");
  }
  BP_TRY(c.set(0, c.in(0)));
  if (!c.wants(1)) return ok_status();
  BP_TRY_ASSIGN(const TensorId one, c.emit.scalar(c.opset() < 10 ? c.emit.dtype(c.in(0)) : DType::kBOOL, 1));
  return c.set(1, c.emit.broadcast(one, c.emit.shape(c.in(0))));
}

}  // namespace

std::span<const Lowering> control_lowerings() {
  static constexpr Lowering kRows[] = {
      Lowering{"If", 7, 1, if_else}.taking(Takes::values),
      Lowering{"Identity", 7, 1, identity}.taking(Takes::values),
      {"Dropout", 7, 1, dropout},
  };
  return kRows;
}

}  // namespace backplane::onnx_import
