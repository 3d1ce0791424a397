// Importer: one pass over a model that makes its Graph. Thread safety: one importer, one thread; use once.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "emitter.hpp"
#include "input_binder.hpp"
#include "lowering/lowering_table.hpp"
#include "model.hpp"
#include "node_context.hpp"
#include "scope.hpp"
#include "unsupported_ops.hpp"

namespace backplane::onnx_import {

class Importer final : private BranchInliner {
 public:
  // `baked`: indices of inputs whose values become constants. References outlive the importer.
  Importer(const Model& model, std::span<const BoundInput> inputs, const std::set<uint32_t>& baked);

  // Errors: as import_onnx; one with id kNeedsValueId says that needed() must be baked too.
  Result<std::shared_ptr<const Graph>> run();
  const std::set<uint32_t>& needed() const { return emitter_.needed_candidates(); }

 private:
  Status define_inputs(Scope& scope);
  Status import_nodes(const GraphDef& graph, Scope& scope);
  Status import_node(const NodeDef& node, Scope& scope);
  Result<std::vector<TensorId>> lower(const Lowering& row, const NodeDef& node, std::vector<TensorId> inputs);
  // Every unsupported op in the graphs that a node which cannot be resolved holds.
  void scan_subgraphs(const NodeDef& node);
  Result<std::vector<TensorId>> inline_branch(const GraphDef& branch) override;
  Status set_outputs(const Scope& scope);

  const Model& model_;
  std::span<const BoundInput> inputs_;
  const std::set<uint32_t>& baked_;
  LoweringTable table_;
  Emitter emitter_;
  UnsupportedOps unsupported_;
  const Scope* scope_ = nullptr;  // of the node that is being lowered
};

}  // namespace backplane::onnx_import
